# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share. A test file ends by calling `main`: it is skipped, exit status 77, where
the package was not built or a package from PyPI is missing."""
from __future__ import annotations

import importlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "models" / "embedded"

sys.path.insert(0, str(ROOT / "tests" / "support"))
from suite import main, skip  # noqa: E402, F401


def need(*modules: str) -> None:
    """Ends the process as skipped unless there are all of them. One that cannot be loaded is an error."""
    for module in modules:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            skip(error)


def model_of(nodes, inputs, outputs, initializers=(), opset=17, ir_version=9, **graph):
    """Bytes of an ONNX model. Inputs and outputs are (name, type, shape) or ValueInfoProtos."""
    from onnx import helper

    def info(value):
        return helper.make_tensor_value_info(*value) if isinstance(value, tuple) else value

    domains = [("", opset), ("ai.onnx.ml", 3)]
    model = helper.make_model(
        helper.make_graph(
            nodes, "graph", [info(i) for i in inputs], [info(o) for o in outputs], list(initializers), **graph
        ),
        opset_imports=[helper.make_opsetid(*domain) for domain in domains],
        ir_version=ir_version,
    )
    return model.SerializeToString()


def identity(dtype: int, shape=(2, 3), opset=19):
    from onnx import helper

    return model_of([helper.make_node("Identity", ["x"], ["y"])], [("x", dtype, shape)], [("y", dtype, shape)], opset=opset)
