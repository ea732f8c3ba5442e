# SPDX-License-Identifier: Apache-2.0
"""What a run is given."""
import numpy as np
from onnx import TensorProto as T
from onnx import helper

from .asked import OPEN, ZEROS, load, model, node, run, value, weight

GATHER = model([node("Gather", ("x", "i"))], [("x", T.FLOAT, [4]), ("i", T.INT64, [2])], [("y", T.FLOAT, [2])])
ADD = model([node("Add", ("a", "b"))], [("a", T.FLOAT, ["n"]), ("b", T.FLOAT, ["m"])], [("y", T.FLOAT, ["k"])])
RESHAPE = model([node("Reshape", ("x", "s"))], [("x", T.FLOAT, [4]), ("s", T.INT64, [None])], [("y", T.FLOAT, None)])
TEXTS = model([node("Identity")], [("x", T.STRING, ["n"])], [("y", T.STRING, ["n"])])
SCALAR = model([node("Neg")], [("x", T.FLOAT, [])], [("y", T.FLOAT, [])])
SAME = model([node("Add", ("a", "b"))], [("a", T.FLOAT, ["n"]), ("b", T.FLOAT, ["n"])], [("y", T.FLOAT, ["n"])])
DEFAULT = model([node("Add", ("x", "w"))], [("x", T.FLOAT, [2]), ("w", T.FLOAT, [2])], weights=[weight(float_data=[1, 2])])
SEQUENCE = model(
    [node("SequenceAt", ("s", "i"))],
    [helper.make_tensor_sequence_value_info("s", T.FLOAT, None), ("i", T.INT64, [])],
)
TOP = model([node("TopK", ("x", "b"), ("y", "i"))], [("x", T.FLOAT, ["a"]), ("b", T.INT64, [1])])
OPTIONAL = model(
    [node("OptionalHasElement", ("o",))],
    [helper.make_value_info("o", helper.make_optional_type_proto(helper.make_tensor_type_proto(T.FLOAT, [2])))],
    [("y", T.BOOL, [])],
    opset=18,
)


def kind(number, shape=(2,)):
    return model([node("Identity")], [("x", number, list(shape))], [("y", number, list(shape))], opset=19)


def computed(op, shapes, opset=17, kinds=T.FLOAT, **attributes):
    """A model of one node whose inputs have these ranks and open sizes."""
    names = ["x", "b", "c", "d"][: len(shapes)]
    kinds = kinds if isinstance(kinds, (list, tuple)) else [kinds] * len(shapes)
    inputs = [(name, number, list(shape)) for name, number, shape in zip(names, kinds, shapes)]
    return model([node(op, names, **attributes)], inputs, [("y", attributes.get("to", kinds[0]), None)], opset=opset)


def array(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


class Mapping(dict):
    pass


FEEDS = {
    "nothing": {},
    "too much": {"x": ZEROS, "q": ZEROS},
    "another name": {"q": ZEROS},
    "an empty name": {"": ZEROS},
    "a number for a name": {3: ZEROS},
    "a name of bytes": {b"x": ZEROS},
    "None for a name": {None: ZEROS},
    "float64": {"x": ZEROS.astype(np.float64)},
    "float16": {"x": ZEROS.astype(np.float16)},
    "integers": {"x": ZEROS.astype(np.int64)},
    "Booleans": {"x": ZEROS.astype(bool)},
    "complex numbers": {"x": ZEROS.astype(np.complex64)},
    "objects": {"x": ZEROS.astype(object)},
    "dates": {"x": ZEROS.astype("M8[s]")},
    "records": {"x": np.zeros((2, 3), [("a", np.float32)])},
    "another rank": {"x": ZEROS[0]},
    "a higher rank": {"x": ZEROS[None]},
    "another size": {"x": np.zeros((2, 4), np.float32)},
    "no elements": {"x": np.zeros((0, 3), np.float32)},
    "None": {"x": None},
    "a list": {"x": [[1, 2, 3], [4, 5, 6]]},
    "a list of floats": {"x": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]},
    "a ragged list": {"x": [[1, 2, 3], [4, 5]]},
    "a list of texts": {"x": [["a", "b", "c"]] * 2},
    "a list of arrays": {"x": [ZEROS[0], ZEROS[1]]},
    "an empty list": {"x": []},
    "a tuple": {"x": ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))},
    "one number": {"x": 3.0},
    "one number of numpy": {"x": np.float32(3)},
    "text": {"x": "abc"},
    "bytes": {"x": b"abc"},
    "the memory of an array": {"x": memoryview(ZEROS)},
    "a set": {"x": {1.0}},
    "a generator": {"x": iter([1.0])},
    "a dict": {"x": {}},
    "no dict": None,
    "a list for a dict": [ZEROS],
    "pairs for a dict": [("x", ZEROS)],
    "an array for a dict": ZEROS,
    "a kind of dict": Mapping(x=ZEROS),
    "big ends first": {"x": ZEROS.astype(">f4")},
    "columns": {"x": np.zeros((3, 2), np.float32).T},
    "every other": {"x": np.zeros((4, 6), np.float32)[::2, ::2]},
    "backwards": {"x": ZEROS[::-1]},
    "one row for all": {"x": np.broadcast_to(ZEROS[0], (2, 3))},
    "a matrix": {"x": np.asmatrix(ZEROS)},
    "a masked array": {"x": np.ma.masked_array(ZEROS, ZEROS > 0)},
    "what may not be written": {"x": np.frombuffer(bytes(24), np.float32).reshape(2, 3)},
    "texts": {"x": np.array([["a"] * 3] * 2)},
}
NAMES = {
    "an unknown output": ["q"],
    "no outputs": [],
    "an output twice": ["y", "y"],
    "a number for an output": [3],
    "None for an output": [None],
    "an empty name of an output": [""],
    "an output of bytes": [b"y"],
    "a tuple of outputs": ("y",),
    "the name of an output as text": "y",
    "the names of outputs as text": "yy",
    "an unknown name as text": "q",
    "a number for outputs": 3,
    "an array of outputs": np.array(["y"]),
    "a dict of outputs": {"y": 1},
    "a set of outputs": {"y"},
    "a generator of outputs": iter(["y"]),
    "an input for an output": ["x"],
}
# Model, what it is given.
RUNS = {
    "a size that is not open": (OPEN, {"x": array(2, 4)}),
    "no rows": (OPEN, {"x": array(0, 3)}),
    "two sizes of one name": (SAME, {"a": array(3), "b": array(4)}),
    "a scalar": (SCALAR, {"x": np.array(3, np.float32)}),
    "a number of numpy for a scalar": (SCALAR, {"x": np.float32(3)}),
    "a number for a scalar": (SCALAR, {"x": 3.0}),
    "a vector for a scalar": (SCALAR, {"x": array(1)}),
    "a wrong default": (DEFAULT, {"x": array(2), "w": array(3)}),
    "a default of another type": (DEFAULT, {"x": array(2), "w": array(2, dtype=np.int64)}),
    "a default as a list": (DEFAULT, {"x": array(2), "w": [1.0, 2.0]}),
    "None for a default": (DEFAULT, {"x": array(2), "w": None}),
    "texts of numpy": (TEXTS, {"x": np.array(["a", "b"])}),
    "objects for texts": (TEXTS, {"x": np.array([1, 2], object)}),
    "bytes among objects": (TEXTS, {"x": np.array([b"a", "b"], object)}),
    "None among texts": (TEXTS, {"x": np.array([None, "b"], object)}),
    "floats for texts": (TEXTS, {"x": np.zeros(2, np.float32)}),
    "a list of texts for texts": (TEXTS, {"x": ["a", "b"]}),
    "a list of numbers for texts": (TEXTS, {"x": [1, 2]}),
    "one text for texts": (TEXTS, {"x": "a"}),
    "integers as a list": (kind(T.INT64), {"x": [1, 2]}),
    "floats as a list for integers": (kind(T.INT64), {"x": [1.5, 2.5]}),
    "numbers that are too large": (kind(T.INT8), {"x": [1, 300]}),
    "Booleans as a list": (kind(T.BOOL), {"x": [True, False]}),
    "numbers for Booleans": (kind(T.BOOL), {"x": array(2, dtype=np.uint8)}),
    "int32 for int64": (kind(T.INT64), {"x": array(2, dtype=np.int32)}),
    "unsigned for signed": (kind(T.INT32), {"x": array(2, dtype=np.uint32)}),
    "float16 as such": (kind(T.FLOAT16), {"x": array(2, dtype=np.float16)}),
    "bytes of bfloat16": (kind(T.BFLOAT16), {"x": array(2, dtype=np.uint16)}),
    "a sequence of arrays": (SEQUENCE, {"s": [array(2), array(2)], "i": np.array(0)}),
    "a sequence of nothing": (SEQUENCE, {"s": [], "i": np.array(0)}),
    "an array for a sequence": (SEQUENCE, {"s": array(2), "i": np.array(0)}),
    "a sequence of two types": (SEQUENCE, {"s": [array(2), array(2, dtype=np.int64)], "i": np.array(0)}),
    "a sequence of numbers": (SEQUENCE, {"s": [1.0, 2.0], "i": np.array(0)}),
    "a tuple for a sequence": (SEQUENCE, {"s": (array(2),), "i": np.array(0)}),
    "a place beyond a sequence": (SEQUENCE, {"s": [array(2)], "i": np.array(5)}),
    "None for an optional": (OPTIONAL, {"o": None}),
    "an array for an optional": (OPTIONAL, {"o": array(2)}),
    "another type for an optional": (OPTIONAL, {"o": array(2, dtype=np.int64)}),
    "an index out of range": (GATHER, {"x": array(4), "i": np.array([0, 9])}),
    "an index below the range": (GATHER, {"x": array(4), "i": np.array([0, -5])}),
    "shapes that do not broadcast": (ADD, {"a": array(3), "b": array(4)}),
    "a shape of other elements": (RESHAPE, {"x": array(4), "s": np.array([3])}),
    "a shape of more elements": (RESHAPE, {"x": array(4), "s": np.array([3, 2])}),
    "a shape of no elements": (RESHAPE, {"x": array(4), "s": np.array([0, 0])}),
    "a shape with two open sizes": (RESHAPE, {"x": array(4), "s": np.array([-1, -1])}),
    "a shape with a size below zero": (RESHAPE, {"x": array(4), "s": np.array([-2, 2])}),
    "a shape that does not divide": (RESHAPE, {"x": array(4), "s": np.array([3, -1])}),
    "a shape without sizes": (RESHAPE, {"x": array(4), "s": np.array([], np.int64)}),
    "a shape to copy from": (RESHAPE, {"x": array(4), "s": np.array([0, 1, 0])}),
    "a product that does not fit": (computed("MatMul", (["a", "b"], ["c", "d"])), {"x": array(2, 3), "b": array(4, 5)}),
    "parts that do not join": (computed("Concat", (["a", "b"], ["c", "d"]), axis=0), {"x": array(2, 3), "b": array(2, 4)}),
    "channels of a picture": (computed("Conv", (["n", "c", "h", "w"], [4, 2, 3, 3])), {"x": array(1, 3, 8, 8), "b": array(4, 2, 3, 3)}),
    "a picture that is too small": (computed("MaxPool", (["n", "c", "h", "w"],), kernel_shape=[9, 9]), {"x": array(1, 1, 4, 4)}),
    "a division by zero": (computed("Div", (["a"], ["b"]), kinds=T.FLOAT), {"x": array(2), "b": array(2) * 0}),
    "a slice with a step of zero": (computed("Slice", (["a"], [1], [1], [1], ), kinds=[T.FLOAT, T.INT64, T.INT64, T.INT64]), {"x": array(4), "b": np.array([0]), "c": np.array([3]), "d": np.array([9])}),
    "axes twice": (computed("Unsqueeze", (["a"], [2]), kinds=[T.FLOAT, T.INT64]), {"x": array(4), "b": np.array([0, 0])}),
    "an axis that is no one": (computed("Squeeze", (["a", "b"], [1]), kinds=[T.FLOAT, T.INT64]), {"x": array(4, 2), "b": np.array([0])}),
    "an axis out of range": (computed("ReduceSum", (["a", "b"], [1]), kinds=[T.FLOAT, T.INT64]), {"x": array(4, 2), "b": np.array([7])}),
    "a shape that does not expand": (computed("Expand", (["a"], [1]), kinds=[T.FLOAT, T.INT64]), {"x": array(4), "b": np.array([3])}),
    "times below zero": (computed("Tile", (["a"], [1]), kinds=[T.FLOAT, T.INT64]), {"x": array(4), "b": np.array([-1])}),
    "as many as there are not": (TOP, {"x": array(4), "b": np.array([9])}),
    "padding of another rank": (computed("Pad", (["a"], ["p"]), kinds=[T.FLOAT, T.INT64]), {"x": array(4), "b": np.array([1, 1, 1])}),
    "no step": (computed("Range", ([], [], []), kinds=T.FLOAT), {"x": array(), "b": array(), "c": array() * 0}),
    "text that is no number": (computed("Cast", (["a"],), kinds=T.STRING, to=T.FLOAT), {"x": np.array(["x1"], object)}),
    "depth below zero": (computed("OneHot", (["a"], [1], [2]), kinds=[T.INT64, T.INT64, T.FLOAT]), {"x": np.array([1]), "b": np.array([-3]), "c": array(2)}),
    "an index out of range to put": (computed("ScatterElements", (["a"], ["b"], ["b"]), kinds=[T.FLOAT, T.INT64, T.FLOAT]), {"x": array(4), "b": np.array([9]), "c": array(1)}),
    "too long a tuple of indices": (computed("GatherND", (["a"], ["b", "c"]), kinds=[T.FLOAT, T.INT64]), {"x": array(4), "b": np.array([[0, 0]])}),
    "an output that the model does not declare so": (model([node("Neg")], [("x", T.FLOAT, ["n"])], [("y", T.FLOAT, [3])]), {"x": array(4)}),
}


def shaped(results):
    return [result.shape if isinstance(result, np.ndarray) else result for result in results]


def values_of(results):
    return [result.tolist() if isinstance(result, np.ndarray) else result for result in results]


QUESTIONS = {f"given {name}": lambda m, feeds=feeds: shaped(run(m, feeds)) for name, feeds in FEEDS.items()}
QUESTIONS |= {f"asked for {name}": lambda m, names=names: len(run(m, {"x": ZEROS}, names)) for name, names in NAMES.items()}
QUESTIONS |= {name: lambda m, case=case: values_of(run(m, case[1], source=case[0])) for name, case in RUNS.items()}
QUESTIONS |= {
    "an OrtValue": lambda m: shaped(run(m, {"x": value(m)})),
    "an OrtValue of another type": lambda m: run(m, {"x": value(m, ZEROS.astype(np.float64))}),
    "an OrtValue of another size": lambda m: run(m, {"x": value(m, np.zeros((2, 4), np.float32))}),
    "a class of OrtValue": lambda m: run(m, {"x": m.OrtValue}),
    "no feeds": lambda m: load(m).run(None),
    "feeds by name": lambda m: shaped(load(m).run(output_names=None, input_feed={"x": ZEROS})),
    "an unknown keyword": lambda m: load(m).run(None, {"x": ZEROS}, nope=1),
    "too many arguments": lambda m: load(m).run(None, {"x": ZEROS}, None, None),
}
