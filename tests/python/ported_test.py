# SPDX-License-Identifier: Apache-2.0
"""Programs written for ONNX Runtime give the same as they are. Where onnxruntime is installed, it runs them too and every
line of their reports is compared."""
import json
import math
import pathlib
import subprocess
import sys
import unittest

import support

support.need("colonnade", "numpy", "onnx")

FOLDER = pathlib.Path(__file__).parent / "ported"
RUNTIMES = ("onnxruntime", "colonnade")
TOLERANCE = 1e-4

# Runs a program of standard input by the runtime of the third argument.
PRELUDE = """
import json, sys
import numpy as np
if sys.argv[3] == "colonnade":
    import colonnade.onnxruntime
    colonnade.onnxruntime.install()

def plain(value):
    if isinstance(value, np.ndarray): return value.tolist()
    if isinstance(value, np.generic): return value.item()
    if isinstance(value, dict): return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)): return [plain(v) for v in value]
    return value

def report(label, value):
    print(json.dumps([label, plain(value)]), flush=True)

exec(compile(sys.stdin.read(), sys.argv[1], "exec"), {"report": report, "DIGITS": sys.argv[2], "__name__": "__main__"})
"""


def reports(program: pathlib.Path, runtime: str) -> list:
    command = [sys.executable, "-W", "ignore", "-c", PRELUDE, program.name, str(support.MODELS / "digits.onnx"), runtime]
    source = program.read_text()
    result = subprocess.run(command, input=source, capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        raise AssertionError(f"{program.name} with {runtime}: status {result.returncode}\n{result.stderr}")
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("[")]


def difference(one, other) -> str:
    """Why two reports are not the same; empty when they are."""
    if isinstance(one, bool) or isinstance(other, bool) or isinstance(one, str) or one is None:
        return "" if type(one) is type(other) and one == other else f"{one!r} and {other!r}"
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        close = math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        return "" if close else f"{one!r} and {other!r}"
    if type(one) is not type(other) or len(one) != len(other):
        return f"{one!r} and {other!r}"
    if isinstance(one, dict):
        one, other = sorted(one.items()), sorted(other.items())
    return next(filter(None, (difference(a, b) for a, b in zip(one, other))), "")


class Ported(unittest.TestCase):
    def test_difference(self):
        self.assertEqual(difference([1.0, "a", {"x": [2]}], [1.00001, "a", {"x": [2]}]), "")
        for one, other in (([1], [1, 2]), ("Fail", "InvalidGraph"), (True, 1), ([1.0], [1.1]), ({"a": 1}, {"b": 1})):
            self.assertNotEqual(difference(one, other), "")


def comparison(program: pathlib.Path):
    def test(self):
        mine = reports(program, RUNTIMES[1])
        self.assertTrue(mine)
        try:
            import onnxruntime  # noqa: F401
        except ImportError:
            self.skipTest("onnxruntime is not installed")
        theirs = reports(program, RUNTIMES[0])
        self.assertEqual([label for label, _ in mine], [label for label, _ in theirs])
        for (label, value), (_, expected) in zip(mine, theirs):
            with self.subTest(label):
                self.assertEqual(difference(value, expected), "")

    return test


for program in sorted(FOLDER.glob("*.py")):
    setattr(Ported, f"test_{program.stem}", comparison(program))

if __name__ == "__main__":
    support.main()
