# SPDX-License-Identifier: Apache-2.0
"""Control flow, sequences and optionals."""
import numpy as np
from onnx import TensorProto, helper

from case import case, given, known, made, x


def _body(nodes, inputs, outputs):
    """A body whose inputs and outputs are (name, element type, shape)."""
    return helper.make_graph(nodes, "body", [helper.make_tensor_value_info(*each) for each in inputs],
                             [helper.make_tensor_value_info(*each) for each in outputs])


def _loop(shape):
    """The state times itself, a little each time."""
    nodes = [helper.make_node("Identity", ["go"], ["still"]), helper.make_node("Tanh", ["state"], ["next"])]
    return _body(nodes, [("i", TensorProto.INT64, []), ("go", TensorProto.BOOL, []), ("state", TensorProto.FLOAT, shape)],
                 [("still", TensorProto.BOOL, []), ("next", TensorProto.FLOAT, shape)])


def _scan(size):
    """A state that decays and takes up a row at a time."""
    nodes = [helper.make_node("Add", ["state", "row"], ["sum"]), helper.make_node("Tanh", ["sum"], ["next"]),
             helper.make_node("Identity", ["next"], ["out"])]
    return _body(nodes, [("state", TensorProto.FLOAT, [size]), ("row", TensorProto.FLOAT, [size])],
                 [("next", TensorProto.FLOAT, [size]), ("out", TensorProto.FLOAT, [size])])


def _branch(name, operator, elements):
    constant = helper.make_node("Constant", [], [f"{name}_made"], value=helper.make_tensor(
        name, TensorProto.FLOAT, elements, np.linspace(0, 1, int(np.prod(elements)))))
    return _body([constant, helper.make_node(operator, [f"{name}_made"], [f"{name}_out"])], [],
                 [(f"{name}_out", TensorProto.FLOAT, elements)])


def _relu(name="body"):
    return helper.make_graph([helper.make_node("Relu", ["in"], ["out"])], name,
                             [helper.make_tensor_value_info("in", TensorProto.FLOAT, None)],
                             [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)])


def _sequence(count, *shape):
    return made(lambda generator: [generator.uniform(-1, 1, shape).astype(np.float32) for _ in range(count)])


CASES = [
    case("Loop", "100 of 1x256", known(100), known(True, "bool"), x(1, 256), body=_loop([1, 256])),
    case("Loop", "10 of 1x64x56x56", given(10), known(True, "bool"), x(1, 64, 56, 56), body=_loop([1, 64, 56, 56])),
    case("Scan", "100 of 256", x(256), x(100, 256), outputs=2, body=_scan(256), num_scan_inputs=1),
    case("Scan", "1000 of 16", x(16), x(1000, 16), outputs=2, body=_scan(16), num_scan_inputs=1),
    case("If", "two branches", given(True, "bool"), then_branch=_branch("then", "Relu", [1, 1000]),
         else_branch=_branch("else", "Neg", [1, 1000])),
    case("SequenceConstruct", "4 of 128x768", *(x(128, 768),) * 4),
    case("SequenceEmpty", "of floats"),
    case("SequenceAt", "4 of 128x768", _sequence(4, 128, 768), known(2)),
    case("SequenceErase", "4 of 128x768", _sequence(4, 128, 768), known(2)),
    case("SequenceInsert", "4 of 128x768", _sequence(4, 128, 768), x(128, 768), known(1)),
    case("SequenceLength", "4 of 128x768", _sequence(4, 128, 768)),
    case("SequenceMap", "4 of 128x768", _sequence(4, 128, 768), body=_relu()),
    case("SplitToSequence", "128x768 by rows", x(128, 768), known(32), axis=0),
    case("ConcatFromSequence", "4 of 128x768", _sequence(4, 128, 768), axis=1),
    case("Optional", "128x768", x(128, 768)),
    case("OptionalGetElement", "128x768", x(128, 768)),
    case("OptionalHasElement", "128x768", x(128, 768)),
]
