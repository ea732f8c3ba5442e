# SPDX-License-Identifier: Apache-2.0
"""Models that are none, or not quite: each is loaded."""
import onnx
from onnx import TensorProto as T
from onnx import helper

from .asked import FOLDER, NEG, external, file, load, model, node, proto, weight

F = T.FLOAT


def edited(edit, *arguments, **keywords):
    made = proto(*(arguments or ([node("Neg")],)), **keywords)
    edit(made)
    return made.SerializeToString()


def graph_of(outputs=("z",), nodes=None, inputs=()):
    infos = [helper.make_tensor_value_info(name, F, None) for name in outputs]
    made = [node("Neg", ("x",), ("z",))] if nodes is None else nodes
    return helper.make_graph(made, "body", [helper.make_tensor_value_info(*i) for i in inputs], infos)


def conditional(then=None, otherwise=None, condition=T.BOOL, outputs=(("y", F, None),)):
    branches = {"then_branch": then or graph_of(), "else_branch": otherwise or graph_of()}
    nodes = [node("If", ("c",), [name for name, *_ in outputs], **branches)]
    return model(nodes, [("c", condition, []), ("x", F, [2])], outputs)


def function(nodes, inputs=("a",), outputs=("b",), call=None, times=1):
    made = helper.make_function("own", "F", list(inputs), list(outputs), nodes, [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)])
    return edited(lambda m: m.functions.extend([made] * times), [call or node("F", domain="own")], domain="own")


def typed(op, kind, inputs=1, opset=17, shape=(1,), **attributes):
    names = ["x", "b", "c", "d"][:inputs]
    return model([node(op, names, **attributes)], [(name, kind, list(shape)) for name in names], [("y", kind, None)], opset=opset)


def constant(**attributes):
    return model([node("Constant", (), ("w",), **attributes), node("Add", ("x", "w"))])


BROKEN = {
    "no file": "/no/such.onnx",
    "a folder": FOLDER,
    "an empty path": "",
    "no bytes": b"",
    "garbage": b"garbage" * 20,
    "a file of garbage": file("garbage.onnx", b"\x08\x07garb"),
    "an empty file": file("empty.onnx", b""),
    "None": None,
    "a number": 5,
    "a list of bytes": [1, 2, 3],
    "half a model": NEG[: len(NEG) // 2],
    "a model without its end": NEG[:-1],
    "a model with more behind it": NEG + b"\xff\xff",
    "a field of an unknown kind": NEG + b"\x0f",
    "an unknown field": NEG + b"\xf8\x07\x01",
    "a length beyond the end": b"\x08\x08\x3a\xff\xff\xff\xff\x0f",
    "zeros": b"\0" * 64,
    "a picture": b"\x89PNG\r\n\x1a\n" + b"\0" * 40,
    "text as a file": file("text.onnx", b"hello, world\n" * 9),
    "the file of half a model": file("half.onnx", NEG[: len(NEG) // 2]),
    "a name with an end in it": "no\0such.onnx",
    "no graph": onnx.ModelProto(ir_version=8).SerializeToString(),
    "no version of the format": edited(lambda m: m.ClearField("ir_version")),
    "a new format": model([node("Neg")], ir=99),
    "no opsets": edited(lambda m: m.ClearField("opset_import")),
    "a new opset": model([node("Neg")], opset=99),
    "opset 0": model([node("Neg")], opset=0),
    "an opset below zero": model([node("Neg")], opset=-1),
    "two opsets of a domain": edited(lambda m: m.opset_import.append(helper.make_opsetid("", 13))),
    "a new opset of ml": edited(lambda m: m.opset_import.append(helper.make_opsetid("ai.onnx.ml", 99))),
}
GRAPHS = {
    "an unknown operator": model([node("Nope")]),
    "an operator without a name": model([node("")]),
    "an operator that is newer": model([node("Gelu")], opset=17),
    "an operator of ml without its opset": model([node("Scaler", domain="ai.onnx.ml", offset=[0.0], scale=[1.0])]),
    "an unknown domain": model([node("Nope", domain="no.such")]),
    "an unknown domain that is imported": model([node("Nope", domain="no.such")], domain="no.such"),
    "an unknown operator of com.microsoft": model([node("Nope", domain="com.microsoft")], domain="com.microsoft"),
    "an undefined input": model([node("Neg", ("q",))]),
    "an input without a name": model([node("Neg", ("",))]),
    "a cycle": model([node("Add", ("x", "y"), "z"), node("Neg", ("z",))]),
    "a node that reads itself": model([node("Add", ("x", "y"))]),
    "nodes in another order": model([node("Neg", ("z",)), node("Abs", ("x",), "z")]),
    "two of one name": model([node("Neg"), node("Abs")]),
    "two nodes of one name": model([node("Neg", name="n"), node("Abs", outputs="z", name="n")]),
    "an output that is an input": model([node("Neg", ("x",), "x")], outputs=[("x", F, [2])]),
    "an input that is an output": model([], outputs=[("x", F, [2])]),
    "no nodes and another output": model([]),
    "no outputs": model([node("Neg")], outputs=[]),
    "an output twice": model([node("Neg")], outputs=[("y", F, [2]), ("y", F, [2])]),
    "an input twice": model([node("Neg")], [("x", F, [2]), ("x", F, [2])]),
    "an input without a type": edited(lambda m: m.graph.input[0].ClearField("type")),
    "an input without an element type": edited(lambda m: m.graph.input[0].type.tensor_type.ClearField("elem_type")),
    "an input of an unknown element type": edited(lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 77)),
    "an input without a shape": edited(lambda m: m.graph.input[0].type.tensor_type.ClearField("shape")),
    "an output without a type": edited(lambda m: m.graph.output[0].ClearField("type")),
    "a graph without a name": edited(lambda m: m.graph.ClearField("name")),
    "a size below zero": model([node("Neg")], [("x", F, [-2])]),
    "an output that nobody makes": model([node("Neg")], outputs=[("q", F, [2])]),
    "an output of another type": model([node("Neg")], outputs=[("y", T.INT64, [2])]),
    "an output of another size": model([node("Neg")], outputs=[("y", F, [3])]),
    "an output of another rank": model([node("Neg")], outputs=[("y", F, [2, 1])]),
    "an initializer twice": model([node("Add", ("x", "w"))], weights=[weight(float_data=[1, 2])] * 2),
    "an initializer without a name": model([node("Neg")], weights=[weight("", float_data=[1, 2])]),
    "an initializer that nobody reads": model([node("Neg")], weights=[weight(float_data=[1, 2])]),
    "an initializer that a node makes": model([node("Neg", outputs="w"), node("Abs", ("w",))], weights=[weight(float_data=[1, 2])]),
    "an initializer of another type than its input": model([node("Add", ("x", "w"))], [("x", F, [2]), ("w", T.INT64, [2])], weights=[weight(float_data=[1, 2])]),
    "an initializer of another size than its input": model([node("Add", ("x", "w"))], [("x", F, [2]), ("w", F, [3])], weights=[weight(float_data=[1, 2])]),
    "an output that is an initializer": model([], (), [("w", F, [2])], [weight(float_data=[1, 2])]),
}
NODES = {
    "an input of a wrong type": typed("Neg", T.BOOL),
    "texts for numbers": typed("Add", T.STRING, 2),
    "Booleans for numbers": typed("Add", T.BOOL, 2),
    "integers for Conv": model([node("Conv", ("x", "w"))], [("x", T.INT32, [1, 1, 4, 4]), ("w", T.INT32, [1, 1, 3, 3])], [("y", T.INT32, None)]),
    "integers for Softmax": typed("Softmax", T.INT32),
    "numbers for Not": typed("Not", F),
    "numbers for And": typed("And", F, 2),
    "integers of 8 bits for Relu": typed("Relu", T.INT8, opset=13),
    "floats for BitShift": typed("BitShift", F, 2, direction="LEFT"),
    "floats for indices": typed("Gather", F, 2),
    "floats for a shape": typed("Reshape", F, 2),
    "an old operator of a new type": typed("Add", T.BFLOAT16, 2, opset=7),
    "numbers for texts": typed("StringNormalizer", F),
    "two types": model([node("Add", ("x", "b"))], [("x", F, [1]), ("b", T.INT64, [1])]),
    "two types of Where": model([node("Where", ("c", "x", "b"))], [("c", T.BOOL, [1]), ("x", F, [1]), ("b", T.DOUBLE, [1])]),
    "a condition of floats": model([node("Where", ("c", "x", "x"))], [("c", F, [1]), ("x", F, [1])]),
    "a sequence for a tensor": model([node("SequenceConstruct", ("x",), "s"), node("Neg", ("s",))]),
    "a tensor for a sequence": model([node("SequenceLength")], outputs=[("y", T.INT64, None)]),
    "shapes that do not fit": model([node("MatMul", ("x", "b"))], [("x", F, [2, 3]), ("b", F, [4, 5])]),
    "shapes that do not broadcast": model([node("Add", ("x", "b"))], [("x", F, [2]), ("b", F, [3])]),
    "channels that do not fit": model([node("Conv", ("x", "w"))], [("x", F, [1, 3, 8, 8]), ("w", F, [4, 2, 3, 3])]),
    "a rank that does not fit": model([node("Conv", ("x", "w"))], [("x", F, [3]), ("w", F, [4, 2, 3, 3])]),
    "a window beyond the picture": model([node("MaxPool", kernel_shape=[9, 9])], [("x", F, [1, 1, 4, 4])]),
    "no attribute": model([node("Concat", ("x", "x"))]),
    "an unknown attribute": model([node("Neg", foo=3)]),
    "an unknown attribute of an inner name": model([node("Neg", __foo=3)]),
    "an unknown attribute of Conv": model([node("Conv", ("x", "w"), padding="same")], [("x", F, [1, 1, 4, 4]), ("w", F, [1, 1, 3, 3])]),
    "an attribute of a later opset": model([node("Reshape", ("x", "s"), allowzero=1)], [("x", F, [4]), ("s", T.INT64, [1])], opset=13),
    "an attribute of an earlier opset": model([node("Squeeze", axes=[0])], [("x", F, [1, 2])], opset=13),
    "an attribute that is overcome": model([node("Add", ("x", "x"), consumed_inputs=[0, 0])]),
    "an attribute twice": edited(lambda m: m.graph.node[0].attribute.append(m.graph.node[0].attribute[0]), [node("Softmax", axis=0)]),
    "an attribute without a name": edited(lambda m: m.graph.node[0].attribute.add(i=1, type=2)),
    "an attribute of a wrong type": model([node("Concat", ("x", "x"), axis=1.5)]),
    "an attribute of a wrong type that is optional": model([node("Softmax", axis="x")]),
    "an axis out of range": model([node("Concat", ("x", "x"), axis=7)]),
    "an axis of Softmax out of range": model([node("Softmax", axis=5)]),
    "a permutation that is none": model([node("Transpose", perm=[0, 0])], [("x", F, [2, 3])]),
    "a permutation of another rank": model([node("Transpose", perm=[0, 1, 2])], [("x", F, [2, 3])]),
    "strides of zero": model([node("MaxPool", kernel_shape=[2, 2], strides=[0, 0])], [("x", F, [1, 1, 4, 4])]),
    "a cast to nothing": model([node("Cast", to=77)]),
    "an unknown mode": model([node("Pad", ("x", "p"), mode="nope")], [("x", F, [2]), ("p", T.INT64, [2])]),
    "too few inputs": model([node("Add")]),
    "too many inputs": model([node("Neg", ("x", "x"))]),
    "no inputs": model([node("Neg", ())]),
    "a required input that is left out": model([node("Add", ("x", ""))]),
    "no outputs of a node": model([node("Neg", outputs=()), node("Abs")]),
    "too many outputs": model([node("Neg", outputs=("y", "z"))]),
    "an operator without inputs that are needed": model([node("Concat", (), axis=0)]),
    "parts that do not add up": model([node("Split", ("x", "s"), ("y", "z"))], [("x", F, [4])], weights=[weight("s", data_type=T.INT64, int64_data=[1, 1])]),
    "a constant of nothing": constant(),
    "a constant of two": constant(value_float=1.0, value_int=2),
    "a shape of other elements that is known": model([node("Reshape", ("x", "s"))], [("x", F, [4])], weights=[weight("s", data_type=T.INT64, int64_data=[3, 5])]),
    "two sizes to find": model([node("Reshape", ("x", "s"))], [("x", F, [4])], weights=[weight("s", data_type=T.INT64, int64_data=[-1, -1])]),
    "an index out of range that is known": model([node("Gather", ("x", "s"))], [("x", F, [4])], weights=[weight("s", data_type=T.INT64, int64_data=[1, 9])]),
    "an equation that is none": model([node("Einsum", equation="i->j")]),
    "a graph that is none": model([node("If", ("x",))], [("x", T.BOOL, [])]),
    "a condition that is a number": conditional(condition=F),
    "branches with more outputs": conditional(graph_of(("z", "z2"), [node("Neg", outputs="z"), node("Abs", outputs="z2")])),
    "a branch that reads nothing": conditional(graph_of(nodes=[node("Neg", ("q",), "z")])),
    "a branch with inputs": conditional(graph_of(inputs=[("i", F, [2])])),
    "branches of two types": conditional(graph_of(nodes=[node("Cast", outputs="z", to=T.INT64)])),
    "a branch without nodes": conditional(graph_of(nodes=[])),
    "a function": function([node("Neg", ("a",), "b")]),
    "a function that calls itself": function([node("F", ("a",), "b", domain="own")]),
    "a function with too many inputs": function([node("Neg", ("a",), "b")], call=node("F", ("x", "x"), domain="own")),
    "a function that makes nothing": function([node("Neg", ("a",), "c")]),
    "a function twice": function([node("Neg", ("a",), "b")], times=2),
    "a function of an unknown operator": function([node("Nope", ("a",), "b")]),
}
WEIGHTS = {
    "too few elements": model([node("Add", ("x", "w"))], weights=[weight(raw_data=b"1234")]),
    "too many elements": model([node("Add", ("x", "w"))], weights=[weight(raw_data=b"1234" * 3)]),
    "elements in parts": model([node("Add", ("x", "w"))], weights=[weight(raw_data=b"12345")]),
    "no elements": model([node("Add", ("x", "w"))], weights=[weight()]),
    "too few numbers": model([node("Add", ("x", "w"))], weights=[weight(float_data=[1])]),
    "too many numbers": model([node("Add", ("x", "w"))], weights=[weight(float_data=[1, 2, 3])]),
    "numbers in the wrong field": model([node("Add", ("x", "w"))], weights=[weight(int64_data=[1, 2])]),
    "numbers twice": model([node("Add", ("x", "w"))], weights=[weight(float_data=[1, 2], raw_data=b"12341234")]),
    "a size of a weight below zero": model([node("Add", ("x", "w"))], weights=[weight(dims=[-2], float_data=[1, 2])]),
    "sizes that are too large": model([node("Add", ("x", "w"))], weights=[weight(dims=[1 << 62, 1 << 62], float_data=[1, 2])]),
    "a weight of no type": model([node("Add", ("x", "w"))], weights=[weight(data_type=0, float_data=[1, 2])]),
    "a weight of an unknown type": model([node("Add", ("x", "w"))], weights=[weight(data_type=77, float_data=[1, 2])]),
    "a weight of texts as bytes": model([node("Identity", ("w",))], (), [("y", T.STRING, None)], [weight(data_type=T.STRING, raw_data=b"12")]),
    "files beside bytes": external(location="w.bin"),
    "no file beside it": file("beside.onnx", external(location="w.bin")),
    "a file elsewhere": file("elsewhere.onnx", external(location="../w.bin")),
    "a file at the root": file("root.onnx", external(location="/etc/hostname")),
    "no place": file("nowhere.onnx", external(offset="0")),
    "an empty place": file("empty_place.onnx", external(location="")),
    "a file that is too short": (file("short.bin", b"123"), file("short.onnx", external(location="short.bin")))[1],
    "an offset beyond the end": (file("off.bin", b"12341234"), file("off.onnx", external(location="off.bin", offset="99")))[1],
    "an offset below zero": file("below.onnx", external(location="off.bin", offset="-8")),
    "an offset that is no number": file("words.onnx", external(location="off.bin", offset="x")),
    "a length that does not fit": file("length.onnx", external(location="off.bin", length="4")),
    "an unknown entry": file("entry.onnx", external(location="off.bin", nope="4")),
    "a folder for a file": file("folder.onnx", external(location=".")),
}
SOURCES = BROKEN | GRAPHS | NODES | WEIGHTS
QUESTIONS = {name: lambda m, source=source: load(m, source) and None for name, source in SOURCES.items()}
assert len(QUESTIONS) == sum(map(len, (BROKEN, GRAPHS, NODES, WEIGHTS)))
