# SPDX-License-Identifier: Apache-2.0
"""The name `onnxruntime` for colonnade.onnxruntime: the import hook, programs run as they are, the package of that name."""
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

import support

support.need("colonnade", "numpy")

import colonnade  # noqa: E402

DIGITS = str(support.MODELS / "digits.onnx")
PROVIDES = support.ROOT / "frontends" / "python" / "provides"

PROGRAM = """
import importlib.metadata, importlib.util, json, sys
found = importlib.util.find_spec("onnxruntime") is not None
import onnxruntime
import onnxruntime as ort
from onnxruntime import InferenceSession
from onnxruntime.capi import _pybind_state
import onnxruntime.capi.onnxruntime_pybind11_state as state
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
from onnxruntime.capi.onnxruntime_inference_collection import OrtValue
import colonnade.onnxruntime
session = InferenceSession(sys.argv[1])
try:
    session.run(None, {"image": 3})
except Exception as error:
    kind = type(error).__name__
print(json.dumps({
    "found": found, "again": importlib.util.find_spec("onnxruntime") is not None,
    "version": importlib.metadata.version("onnxruntime") == onnxruntime.__version__,
    "same": [onnxruntime is colonnade.onnxruntime, state.InvalidArgument is InvalidArgument, OrtValue is ort.OrtValue],
    "who": onnxruntime.get_build_info().split()[0], "input": session.get_inputs()[0].name, "arguments": sys.argv[2:],
    "main": __name__, "training": importlib.util.find_spec("onnxruntime.training") is None,
}))
"""


def python(*arguments: str, **keywords) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(colonnade.__file__).resolve().parents[1])}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, **keywords)


class Installed(unittest.TestCase):
    def check(self, result, arguments=("--flag", "x")):
        import json

        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(
            json.loads(result.stdout),
            {
                "found": True,
                "again": True,
                "version": True,
                "same": [True, True, True],
                "who": "Colonnade",
                "input": "image",
                "arguments": list(arguments),
                "main": "__main__",
                "training": True,
            },
        )

    def test_program(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "beside.py").write_text("VALUE = 3\n")
            path = pathlib.Path(folder) / "program.py"
            path.write_text("import beside\nassert beside.VALUE == 3\n" + PROGRAM)
            self.check(python("-m", "colonnade.onnxruntime", str(path), DIGITS, "--flag", "x"))

    def test_module(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "package").mkdir()
            (pathlib.Path(folder) / "package" / "__main__.py").write_text(PROGRAM)
            self.check(python("-m", "colonnade.onnxruntime", "-m", "package", DIGITS, "--flag", "x", cwd=folder))

    def test_code(self):
        self.check(python("-m", "colonnade.onnxruntime", "-c", PROGRAM, DIGITS, "--flag", "x"))

    def test_hook(self):
        code = "import colonnade.onnxruntime as c; c.install(); c.install()\n" + PROGRAM
        self.check(python("-c", code, DIGITS, "--flag", "x"))

    def test_warnings_of_imports(self):
        self.assertEqual(python("-W", "error", "-m", "colonnade.onnxruntime", "-c", PROGRAM, DIGITS).stderr, "")

    def test_usage(self):
        for arguments, status in ((["-h"], 0), ([], 2), (["-m"], 2), (["-c"], 2)):
            result = python("-m", "colonnade.onnxruntime", *arguments)
            self.assertEqual(result.returncode, status)
            self.assertIn("PROGRAM.py", result.stdout + result.stderr)

    def test_the_program_s_failure_is_its_own(self):
        result = python("-m", "colonnade.onnxruntime", "-c", "raise SystemExit(7)")
        self.assertEqual(result.returncode, 7)
        result = python("-m", "colonnade.onnxruntime", "/nowhere/program.py")
        self.assertIn("No such file", result.stderr)

    def test_what_is_not_there(self):
        code = "import onnxruntime.training"
        result = python("-m", "colonnade.onnxruntime", "-c", code)
        self.assertIn("ModuleNotFoundError: No module named 'onnxruntime.training'", result.stderr)

    def test_too_late(self):
        code = textwrap.dedent(
            """
            import sys, types
            sys.modules["onnxruntime"] = types.ModuleType("onnxruntime")
            import colonnade.onnxruntime
            try:
                colonnade.onnxruntime.install()
            except RuntimeError as error:
                print(error)
            """
        )
        self.assertIn("was imported already", python("-c", code).stdout)


class BesideTheRealOne(unittest.TestCase):
    def setUp(self):
        try:
            importlib.metadata.version("onnxruntime")
            import onnx  # noqa: F401
        except ImportError as error:
            self.skipTest(str(error))

    def test_its_quantisation_runs_here(self):
        """Static quantisation calibrates by running the model."""
        program = textwrap.dedent(
            """
            import sys, os, tempfile
            import numpy as np
            import onnxruntime
            from onnxruntime import quantization as q
            from onnxruntime.quantization import CalibrationDataReader

            ran = []
            run = onnxruntime.InferenceSession.run
            def counted(self, *arguments):
                ran.append(1)
                return run(self, *arguments)
            onnxruntime.InferenceSession.run = onnxruntime.capi.onnxruntime_inference_collection.Session.run = counted

            class Reader(CalibrationDataReader):
                def __init__(self):
                    self.rest = [{"image": np.random.default_rng(i).random((1, 1, 28, 28), np.float32)} for i in range(3)]
                def get_next(self):
                    return self.rest.pop() if self.rest else None

            image = np.random.default_rng(9).random((1, 1, 28, 28), np.float32)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "quantised.onnx")
                q.quantize_static(sys.argv[1], path, Reader(), quant_format=q.QuantFormat.QDQ)
                assert len(ran) >= 3, ran
                one = onnxruntime.InferenceSession(sys.argv[1]).run(None, {"image": image})[0]
                two = onnxruntime.InferenceSession(path).run(None, {"image": image})[0]
            assert "colonnade" in onnxruntime.__file__
            assert np.abs(one - two).max() < 0.1, (one, two)
            print("same")
            """
        )
        result = python("-W", "ignore", "-m", "colonnade.onnxruntime", "-c", program, DIGITS)
        self.assertEqual(result.stdout.strip(), "same", result.stderr[-2000:])


class Provided(unittest.TestCase):
    """The package that has the module's name in its folder."""

    def test_module(self):
        program = "import sys; sys.path.insert(0, sys.argv.pop(1))\n" + PROGRAM
        result = python("-c", program, str(PROVIDES), DIGITS, "--flag", "x")
        Installed.check(self, result)

    def test_what_a_build_is_asked_for(self):
        import tomllib

        project = tomllib.loads((PROVIDES / "pyproject.toml").read_text())
        from colonnade.onnxruntime._version import VERSION

        told = (PROVIDES / "onnxruntime.PKG-INFO").read_text()
        self.assertIn(f"\nVersion: {VERSION}\n", told)
        included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
        self.assertEqual(included, {"onnxruntime.PKG-INFO": f"onnxruntime-{VERSION}.egg-info/PKG-INFO"})


if __name__ == "__main__":
    support.main()
