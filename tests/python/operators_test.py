# SPDX-License-Identifier: Apache-2.0
"""Operators of a library that calls ONNX Runtime's C interface, through Python: the same results by both modules.
COLONNADE_OPERATORS names a library with the operator Scale (tests/onnxruntime/programs/operators.cpp)."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import support

support.need("colonnade", "numpy", "onnx")

import numpy as np
from onnx import TensorProto as T
from onnx import helper

import colonnade
import colonnade.onnxruntime as ours
from colonnade.onnxruntime import _libraries

LIBRARY = os.environ.get("COLONNADE_OPERATORS", "")
if not os.path.exists(LIBRARY):
    support.skip("COLONNADE_OPERATORS names no library: build the target onnxruntime_operators")
if not any(path.exists() for path in _libraries._interfaces()):
    support.skip("there is no library with ONNX Runtime's C interface: build the target colonnade_onnxruntime")
try:
    import onnxruntime as theirs
except ModuleNotFoundError:
    theirs = None

X = np.arange(-6, 6, dtype=np.float32).reshape(3, 4)


def model(factor=2.0, **attributes):
    nodes = [
        helper.make_node("Abs", ["x"], ["a"]),
        helper.make_node("Scale", ["a"], ["s"], domain="test.domain", **({"factor": factor} | attributes)),
        helper.make_node("Relu", ["s"], ["y"]),
    ]
    infos = [helper.make_tensor_value_info(name, T.FLOAT, ["n", 4]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("test.domain", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def session(m, source=None, path=LIBRARY):
    options = m.SessionOptions()
    options.log_severity_level = 4
    options.register_custom_ops_library(path)
    return m.InferenceSession(model() if source is None else source, options, providers=["CPUExecutionProvider"])


class Operators(unittest.TestCase):
    def modules(self):
        return [ours] if theirs is None else [ours, theirs]

    def test_results_are_the_same(self):
        for m in self.modules():
            with self.subTest(m.__name__):
                made = session(m)
                for x in (X, X[:1], np.concatenate([X, X])):
                    np.testing.assert_array_equal(made.run(None, {"x": x})[0], 2 * np.abs(x))

    def test_from_files_and_twice(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "model.onnx")
            path.write_bytes(model(3.0))
            made = [session(ours, str(path)) for _ in range(2)]
        for one in made:
            np.testing.assert_array_equal(one.run(None, {"x": X})[0], 3 * np.abs(X))

    def test_without_the_library_the_domain_is_not_known(self):
        for m in self.modules():
            with self.subTest(m.__name__), self.assertRaises(Exception) as raised:
                m.InferenceSession(model(), providers=["CPUExecutionProvider"])
            self.assertEqual(type(raised.exception).__name__, "Fail")

    def test_failures_of_kernels_are_errors(self):
        for m in self.modules():
            made = session(m, model(-1.0))
            with self.subTest(m.__name__), self.assertRaisesRegex(Exception, "a factor below zero"):
                made.run(None, {"x": X})

    def test_engines_own_models_take_them(self):
        library = _libraries.operators_of(LIBRARY)
        made = colonnade.Session(model(), operators=[library])
        np.testing.assert_array_equal(made(X), 2 * np.abs(X))

    def test_a_missing_interface_is_named(self):
        code = (
            "import sys, pathlib\n"
            "from colonnade.onnxruntime import _libraries, SessionOptions\n"
            "_libraries._interfaces = lambda: iter([pathlib.Path('/no/such')])\n"
            "SessionOptions().register_custom_ops_library(sys.argv[1])"
        )
        result = subprocess.run([sys.executable, "-c", code, LIBRARY], capture_output=True, text=True)
        self.assertIn("pip install colonnade-onnxruntime", result.stderr)
        self.assertEqual(result.returncode, 1)


if __name__ == "__main__":
    support.main()
