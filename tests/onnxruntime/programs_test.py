# SPDX-License-Identifier: Apache-2.0
"""Programs that nobody here wrote, with our library in the place of ONNX Runtime's: the same results.

Argument: our library. Their packages are those of `./dev packages` or in COLONNADE_PROGRAMS, a folder of site-packages;
what is not installed is skipped.
"""
from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def site_packages() -> list[Path]:
    given = [os.environ["COLONNADE_PROGRAMS"]] if "COLONNADE_PROGRAMS" in os.environ else []
    return [Path(folder) for folder in given + glob.glob(str(ROOT / "build/*/lib/python*/site-packages"))]


def package(name: str) -> Path | None:
    return next((folder / name for folder in site_packages() if (folder / name).is_dir()), None)


def run(script: str, arguments: list[str], path: list[str]) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    done = subprocess.run([sys.executable, str(HERE / "programs" / script), *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{script}: {done.stderr[-2000:]}"
    return done.stdout


def speech(library: str, folder: Path) -> str:
    """sherpa-onnx finds speech with Silero's network."""
    sherpa, silero = package("sherpa_onnx"), package("silero_vad")
    if sherpa is None or silero is None:
        return "sherpa-onnx or silero-vad is not installed"
    ours = folder / "sherpa"
    shutil.copytree(sherpa, ours / "sherpa_onnx")
    if (sherpa.parent / "sherpa_onnx.libs").is_dir():
        shutil.copytree(sherpa.parent / "sherpa_onnx.libs", ours / "sherpa_onnx.libs")
    shutil.copyfile(library, ours / "sherpa_onnx/lib/libonnxruntime.so")
    model = str(silero / "data/silero_vad.onnx")
    expected = run("speech.py", [model], [str(sherpa.parent)])
    found = run("speech.py", [model], [str(ours), str(sherpa.parent)])
    assert found == expected and "[(" in found, f"speech: expected {expected}, found {found}"
    return ""


def words(library: str, folder: Path) -> str:
    """onnxruntime-genai writes on, with a decoder of random weights."""
    genai, real = package("onnxruntime_genai"), package("onnxruntime")
    if genai is None or real is None or package("onnx") is None:
        return "onnxruntime-genai, onnxruntime or onnx is not installed"
    ours = folder / "genai/onnxruntime/capi"
    ours.mkdir(parents=True)
    (ours.parent / "__init__.py").touch()
    shutil.copyfile(library, ours / "libonnxruntime.so.1.32.0")
    model = str(folder / "decoder")
    path = [str(genai.parent)]
    for shared in ([], ["shared"]):
        run("decoder.py", [model, *shared], path)
        expected = run("words.py", [model], path)
        found = run("words.py", [model], [str(folder / "genai"), *path])
        assert found == expected and found.count(",") == 63, f"words {shared}: expected {expected}, found {found}"
    return ""


def main() -> int:
    library = sys.argv[1]
    skipped = 0
    programs = (speech, words)
    for program in programs:
        with tempfile.TemporaryDirectory() as folder:
            reason = program(library, Path(folder))
        print(f"{program.__name__}: {'skipped: ' + reason if reason else 'the same'}")
        skipped += bool(reason)
    return SKIPPED if skipped == len(programs) else 0


if __name__ == "__main__":
    sys.exit(main())
