# SPDX-License-Identifier: Apache-2.0
# Weights that a program brings: in place of the model's, of files beside it or in memory, and as inputs.
import os
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import OrtValue as StateValue


def value(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(weights, inputs=(), ir_version=8):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("Add", ["z", "b"], ["y"])]
    graph = helper.make_graph(nodes, "linear", [value("x", ["N", 2]), *inputs], [value("y", ["N", 2])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=ir_version)


def attempt(label, call):
    try:
        report(label, call())
    except Exception as error:
        report(label, type(error).__name__)


w, b = np.array([[1, 2], [3, 4]], np.float32), np.array([10, 20], np.float32)
x = np.array([[1, 0], [0, 1]], np.float32)
weights = [numpy_helper.from_array(w, "w"), numpy_helper.from_array(b, "b")]
linear = model(weights).SerializeToString()
report("own", ort.InferenceSession(linear).run(None, {"x": x})[0])

other = ort.OrtValue.ortvalue_from_numpy(-w)
options = ort.SessionOptions()
options.add_initializer("w", other)
report("replaced", ort.InferenceSession(linear, options).run(None, {"x": x})[0])
options.add_initializer("nothing", other)
report("unknown", ort.InferenceSession(linear, options).run(None, {"x": x})[0])

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.onnx")
    onnx.save_model(model(weights), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    report("beside", ort.InferenceSession(path).run(None, {"x": x})[0])
    report("replaced beside", ort.InferenceSession(path, options).run(None, {"x": x})[0])
    content = open(path, "rb").read()
    data = open(os.path.join(folder, "weights.bin"), "rb").read()
    elsewhere = ort.SessionOptions()
    elsewhere.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
    report("folder", ort.InferenceSession(content, elsewhere).run(None, {"x": x})[0])

memory = ort.SessionOptions()
memory.add_external_initializers_from_files_in_memory(["weights.bin"], [data], [len(data)])
report("file in memory", ort.InferenceSession(content, memory).run(None, {"x": x})[0])
given = ort.SessionOptions()
values = [ort.OrtValue.ortvalue_from_numpy(-w), ort.OrtValue.ortvalue_from_numpy(b)]
given.add_external_initializers(["w", "b"], values)
report("values", ort.InferenceSession(content, given).run(None, {"x": x})[0])
attempt("lists of two lengths", lambda: ort.SessionOptions().add_external_initializers(["w"], []))

session = ort.InferenceSession(model(weights, [value("b", [2])]).SerializeToString())
report("inputs", [a.name for a in session.get_inputs()])
report("overridable", [(a.name, a.type, a.shape) for a in session.get_overridable_initializers()])
report("default", session.run(None, {"x": x})[0])
report("overridden", session.run(["y"], {"x": x, "b": -b})[0])
report("default again", session.run(None, {"x": x})[0])
old = ort.InferenceSession(model(weights, [value("w", [2, 2]), value("b", [2])], ir_version=3).SerializeToString())
report("old", [[a.name for a in old.get_inputs()], len(old.get_overridable_initializers())])
report("old run", old.run(None, {"x": x})[0])
report("state's value", StateValue.ortvalue_from_numpy_with_onnx_type(b, TensorProto.FLOAT).shape())
