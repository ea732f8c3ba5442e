# SPDX-License-Identifier: Apache-2.0
# Every type of element, sequences, maps and optionals.
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper


def session(nodes, inputs, outputs, opset=19):
    model = helper.make_model(
        helper.make_graph(nodes, "graph", inputs, outputs),
        opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)],
        ir_version=9,
    )
    return ort.InferenceSession(model.SerializeToString())


def tensor(name, onnx_type, shape=(2, 2)):
    return helper.make_tensor_value_info(name, onnx_type, shape)


TYPES = {
    TensorProto.FLOAT: np.float32,
    TensorProto.DOUBLE: np.float64,
    TensorProto.FLOAT16: np.float16,
    TensorProto.INT8: np.int8,
    TensorProto.INT16: np.int16,
    TensorProto.INT32: np.int32,
    TensorProto.INT64: np.int64,
    TensorProto.UINT8: np.uint8,
    TensorProto.UINT16: np.uint16,
    TensorProto.UINT32: np.uint32,
    TensorProto.UINT64: np.uint64,
    TensorProto.BOOL: np.bool_,
}
for onnx_type, dtype in TYPES.items():
    same = session([helper.make_node("Identity", ["x"], ["y"])], [tensor("x", onnx_type)], [tensor("y", onnx_type)])
    result = same.run(None, {"x": np.array([[0, 1], [2, 3]]).astype(dtype)})[0]
    report(same.get_inputs()[0].type, [str(result.dtype), result.astype(np.float64)])

same = session(
    [helper.make_node("Identity", ["x"], ["y"])], [tensor("x", TensorProto.STRING)], [tensor("y", TensorProto.STRING)]
)
result = same.run(None, {"x": np.array([["a", "b"], ["\u00e4", ""]])})[0]
report("text", [str(result.dtype), result.tolist(), type(result[0, 0]).__name__])
report("objects", same.run(None, {"x": np.array([["a", "b"], ["c", "d"]], object)})[0].tolist())

cast = session(
    [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)],
    [tensor("x", TensorProto.BFLOAT16)],
    [tensor("y", TensorProto.FLOAT)],
)
bits = np.array([[0x3F80, 0x4000], [0xC040, 0]], np.uint16)
value = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, TensorProto.BFLOAT16)
report("bfloat16", [value.data_type(), value.element_type(), value.shape()])
report("its numbers", cast.run_with_ort_values(None, {"x": value})[0].numpy())

sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
insert = session(
    [helper.make_node("SequenceInsert", ["s", "x"], ["t"])],
    [sequence, tensor("x", TensorProto.FLOAT, [2])],
    [helper.make_tensor_sequence_value_info("t", TensorProto.FLOAT, None)],
)
report("kinds", [a.type for a in insert.get_inputs() + insert.get_outputs()])
one = np.ones(2, np.float32)
for given in ([one], [one, one * 2]):
    (result,) = insert.run(None, {"s": given, "x": one * 3})
    report("sequence", [type(result).__name__, [item.tolist() for item in result]])

inner = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
zipmap = session(
    [helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_int64s=[7, 8])],
    [tensor("x", TensorProto.FLOAT, ["N", 2])],
    [helper.make_value_info("y", helper.make_sequence_type_proto(inner))],
)
report("map type", zipmap.get_outputs()[0].type)
(result,) = zipmap.run(None, {"x": np.array([[1, 2], [3, 4]], np.float32)})
report("maps", [sorted(row.items()) for row in result])
report("their types", [(type(key).__name__, type(value).__name__) for key, value in result[0].items()])

inner = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
named = session(
    [helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_strings=["cat", "d\u00f6g"])],
    [tensor("x", TensorProto.FLOAT, ["N", 2])],
    [helper.make_value_info("y", helper.make_sequence_type_proto(inner))],
)
(result,) = named.run(None, {"x": np.array([[0.25, 2]], np.float32)})
report("maps of text", [sorted(row.items()) for row in result])

split = session(
    [helper.make_node("TopK", ["x", "k"], ["values", "indices"]), helper.make_node("NonZero", ["x"], ["places"])],
    [tensor("x", TensorProto.FLOAT, ["N"]), tensor("k", TensorProto.INT64, [1])],
    [tensor("values", TensorProto.FLOAT, ["K"]), tensor("indices", TensorProto.INT64, ["K"]), tensor("places", TensorProto.INT64, [1, "P"])],
)
results = split.run(["places", "values"], {"x": np.array([3, 0, 5, 0, 4], np.float32), "k": np.array([2])})
report("shapes from data", [result.tolist() for result in results])
scalar = session([helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)], [tensor("x", TensorProto.FLOAT)], [tensor("y", TensorProto.FLOAT, [])])
result = scalar.run(None, {"x": np.ones((2, 2), np.float32)})[0]
report("scalar", [np.shape(result), float(result)])
