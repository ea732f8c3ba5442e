# SPDX-License-Identifier: Apache-2.0
"""What a measurement needs besides the engines: virtual environments, models, inputs and converted models."""
from __future__ import annotations

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "peers"
SEED = 1
PYTHONS_OF_DEEPSPARSE = ("3.11", "3.10", "3.9", "3.8")
CONVERSION_SECONDS = 900


class Refused(Exception):
    """A model that an engine cannot take, or an argument that makes no sense; the message is for the user."""


def run_quietly(command: list[str], log: pathlib.Path, **options) -> None:
    """Runs a command with its output in a log; a failure says where to look."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w") as file:
        status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, **options).returncode
    if status != 0:
        lines = log.read_text(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "no output")
        raise Refused(f"{pathlib.Path(command[0]).name} failed ({status}): {last.strip()[:200]}; see {log}")


def interpreter(version: str) -> str | None:
    """A Python of this version, from PATH or pyenv; None where there is none."""
    candidates = [shutil.which(f"python{version}")]
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
    candidates += [str(path) for path in sorted(pyenv.glob(f"{version}.*/bin/python{version}"))]
    for candidate in filter(None, candidates):
        check = subprocess.run([candidate, "-c", "import ensurepip, venv"], capture_output=True)
        if check.returncode == 0:
            return candidate
    return None


def environment(name: str, python: str, packages: list[list[str]]) -> pathlib.Path:
    """The interpreter of a virtual environment, which is made when it is missing; one pip call a list of packages."""
    folder = HOME / name
    complete = folder / "complete"
    executable = folder / "bin" / "python"
    if not complete.exists():
        print(f"peers: making {folder.relative_to(ROOT)}", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        run_quietly([python, "-m", "venv", str(folder)], HOME / f"{name}.log")
        for arguments in packages:
            run_quietly([str(executable), "-m", "pip", "install", "-q", *arguments], HOME / f"{name}.log")
        complete.touch()
    return executable


def main_environment() -> pathlib.Path:
    """For all engines but deepsparse. pnnx is a program; the PyTorch it asks for is used by its Python API alone."""
    packages = ["numpy", "onnx", "onnxruntime", "openvino", "ncnn", "MNN"]
    return environment("venv", sys.executable, [packages, ["--no-deps", "pnnx"]])


def deepsparse_environment() -> pathlib.Path:
    """deepsparse ended with 1.8.0 and Python 3.11."""
    for version in PYTHONS_OF_DEEPSPARSE:
        python = interpreter(version)
        if python is not None:
            return environment("venv-deepsparse", python, [["deepsparse==1.8.0"]])
    raise Refused("deepsparse 1.8.0 needs Python " + ", ".join(reversed(PYTHONS_OF_DEEPSPARSE)))


def networks() -> list[str]:
    """Names that models/networks.py can make."""
    command = [sys.executable, str(ROOT / "models" / "networks.py"), "--list"]
    listing = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if listing.returncode != 0:
        raise Refused("models/networks.py --list failed")
    return [line.split()[0] for line in listing.stdout.splitlines() if line.strip()]


QUANTISED = ("_qdq8", "_dyn8")
ENCODERS = ("minilm_s128", "bert_base_s128", "minilm_text", "bert_base_text", "minilm_text_own")  # made by bench/choices/encoders.py


def int8_networks() -> list[str]:
    """Those that people quantise: weights and activations, or for text weights alone."""
    static = ["resnet50", "resnet18", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "yolov8n_640",
              "ssd_mobilenet", "unet_256", "srvgg_x4_256", "minilm_s128", "bert_base_s128"]
    return [f"{name}_qdq8" for name in static] + ["minilm_s128_dyn8", "bert_base_s128_dyn8"]


def make_network(name: str) -> pathlib.Path:
    """The file of a network by its name, made if it is not there; a name that ends with _qdq8 or _dyn8 in int8."""
    file = HOME / "models" / f"{name}.onnx"
    if file.exists():
        return file
    file.parent.mkdir(parents=True, exist_ok=True)
    log = HOME / "models" / f"{name}.log"
    suffix = next((suffix for suffix in QUANTISED if name.endswith(suffix)), None)
    if suffix is None:
        encoder = [str(ROOT / "bench" / "choices" / "encoders.py"), str(file.parent), name]
        network = [str(ROOT / "models" / "networks.py"), "--out", str(file.parent), name]
        run_quietly([sys.executable, *(encoder if name in ENCODERS else network)], log)
    else:
        source = make_network(name.removesuffix(suffix))
        run_quietly([sys.executable, str(ROOT / "bench" / "peers" / "quantise.py"), str(source), str(file)], log)
    return file


def find_models(names: list[str]) -> list[pathlib.Path]:
    """Files for names of networks, ONNX files and folders of them; no names: all networks."""
    files: list[pathlib.Path] = []
    for name in names or networks():
        path = pathlib.Path(name)
        if path.is_dir():
            files += sorted(path.glob("*.onnx"))
        elif path.is_file():
            files.append(path)
        else:
            files.append(make_network(name))
    if not files:
        raise Refused("no models")
    return [file.resolve() for file in files]


@dataclass
class Subject:
    """A model with its inputs on disk; `inputs` are DTYPE:DIMS:FILE as the workers read them."""

    name: str
    file: pathlib.Path
    digest: str
    inputs: list[str] = field(default_factory=list)
    shapes: list[list[int]] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    input_names: list[str] = field(default_factory=list)
    output_names: list[str] = field(default_factory=list)

    @property
    def folder(self) -> pathlib.Path:
        """For everything that is derived from the model."""
        return HOME / "converted" / f"{self.name}-{self.digest}"


def filled_shape(dims: list[int | None], override: list[int] | None) -> list[int]:
    """Open dimensions from the override, else 224 for height and width of images, else 1."""
    if override is not None:
        return override
    image = len(dims) == 4
    return [dim if dim is not None else (224 if image and axis >= 2 else 1) for axis, dim in enumerate(dims)]


def prepare(file: pathlib.Path, overrides: dict[str, list[int]]) -> Subject:
    """Reads the model's inputs and writes arrays for them: uniform in [0, 1), integers below 2, always the same."""
    import numpy as np
    import onnx

    model = onnx.load(file, load_external_data=False)
    key = file.read_bytes() + repr(sorted(overrides.items())).encode()
    subject = Subject(file.stem, file, hashlib.sha256(key).hexdigest()[:12])
    folder = subject.folder
    folder.mkdir(parents=True, exist_ok=True)
    stored = {initializer.name for initializer in model.graph.initializer}
    subject.output_names = [value.name for value in model.graph.output]
    generator = np.random.default_rng(SEED)
    for value in (value for value in model.graph.input if value.name not in stored):
        tensor = value.type.tensor_type
        dims = [dim.dim_value if dim.dim_value > 0 else None for dim in tensor.shape.dim]
        shape = filled_shape(dims, overrides.get(value.name, overrides.get("")))
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        uniform = generator.random(shape, dtype=np.float32)
        array = uniform.astype(dtype) if dtype.kind == "f" else (uniform * 2).astype(dtype)
        path = folder / f"input{len(subject.inputs)}.raw"
        array.tofile(path)
        subject.inputs.append(f"{dtype}:{'x'.join(map(str, shape))}:{path}")
        subject.input_names.append(value.name)
        subject.shapes.append(list(shape))
        subject.dtypes.append(str(dtype))
    return subject


def converted(subject: Subject, engine: str) -> pathlib.Path:
    """The file that the engine loads; conversions are kept, failures too."""
    converters = {"ncnn": to_ncnn, "mnn": to_mnn, "deepsparse": to_opset17}
    if engine not in converters:
        return subject.file
    failure = subject.folder / f"{engine}.failed"
    if failure.exists():
        raise Refused(failure.read_text())
    try:
        return converters[engine](subject)
    except subprocess.TimeoutExpired as error:
        raise Refused(str(error)) from error
    except Refused as error:
        failure.write_text(str(error))
        raise


def tool(name: str) -> str:
    """A program of the main environment; pnnx lies in its package."""
    packaged = list((HOME / "venv" / "lib").glob(f"python*/site-packages/{name}/{name}"))
    return str(packaged[0] if packaged else HOME / "venv" / "bin" / name)


def to_ncnn(subject: Subject) -> pathlib.Path:
    """By pnnx, without fp16; pnnx writes its outputs beside the model that it reads."""
    param = subject.folder / "model.ncnn.param"
    if not param.exists():
        link = subject.folder / "model.onnx"
        link.unlink(missing_ok=True)
        link.symlink_to(subject.file)
        suffix = {"float32": "f32", "int64": "i64", "int32": "i32", "float64": "f64"}
        shapes = ",".join(f"[{','.join(map(str, shape))}]{suffix.get(dtype, 'f32')}"
                          for shape, dtype in zip(subject.shapes, subject.dtypes))
        run_quietly([tool("pnnx"), "model.onnx", f"inputshape={shapes}", "fp16=0"], subject.folder / "pnnx.log",
                    cwd=subject.folder, timeout=CONVERSION_SECONDS)
        if not param.exists():
            raise Refused("pnnx wrote no model")
    return param


def to_mnn(subject: Subject) -> pathlib.Path:
    """By mnnconvert, in fp32; beside the model go the names of its inputs and outputs."""
    file = subject.folder / "model.mnn"
    names_file = file.with_name(file.name + ".json")
    if not names_file.exists():
        run_quietly([tool("mnnconvert"), "-f", "ONNX", "--modelFile", str(subject.file), "--MNNModel", str(file),
                     "--bizCode", "peers"], subject.folder / "mnnconvert.log", timeout=CONVERSION_SECONDS)
        if not file.exists():
            raise Refused("mnnconvert wrote no model")
        names = {"inputs": subject.input_names, "outputs": subject.output_names}
        names_file.write_text(json.dumps(names))
    return file


def to_opset17(subject: Subject) -> pathlib.Path:
    """The model itself where it is old enough for deepsparse, else a copy with IR version 8 and opset 17."""
    import onnx

    model = onnx.load(subject.file)
    opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=17)
    if model.ir_version <= 8 and opset <= 17:
        return subject.file
    file = subject.folder / "opset17.onnx"
    if not file.exists():
        try:
            if opset > 17:
                model = onnx.version_converter.convert_version(model, 17)
            model.ir_version = 8
            onnx.save(model, file)
        except Exception as error:
            raise Refused(f"no copy with opset 17: {error}") from error
    return file
