# SPDX-License-Identifier: Apache-2.0
# What is raised for what.
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import (
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    NoSuchFile,
)


def attempt(label, call):
    try:
        call()
        report(label, "fine")
    except Exception as error:
        report(label, type(error).__name__)


def model(nodes, opset=17):
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3]) for name in "xy"]
    graph = helper.make_graph(nodes, "graph", value[:1], value[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8).SerializeToString()


session = ort.InferenceSession(DIGITS)
image = np.zeros((1, 1, 28, 28), np.float32)
attempt("type", lambda: session.run(None, {"image": image.astype(np.float64)}))
attempt("rank", lambda: session.run(None, {"image": image[0]}))
attempt("size", lambda: session.run(None, {"image": image[:, :, :5]}))
attempt("missing", lambda: session.run(None, {}))
attempt("other name", lambda: session.run(None, {"picture": image}))
attempt("one too many", lambda: session.run(None, {"image": image, "picture": image}))
attempt("no such output", lambda: session.run(["nothing"], {"image": image}))
attempt("text", lambda: session.run(None, {"image": "image"}))
attempt("no file", lambda: ort.InferenceSession("nowhere/model.onnx"))
attempt("no model", lambda: ort.InferenceSession(b"this is no model at all"))
attempt("no bytes", lambda: ort.InferenceSession(b""))
attempt("no path", lambda: ort.InferenceSession(3))
attempt("operator", lambda: ort.InferenceSession(model([helper.make_node("Nothing", ["x"], ["y"])])))
attempt("inputs", lambda: ort.InferenceSession(model([helper.make_node("Relu", ["x", "x"], ["y"])])))
attempt("domain", lambda: ort.InferenceSession(model([helper.make_node("Relu", ["x"], ["y"], domain="my")])))
attempt("fine", lambda: ort.InferenceSession(model([helper.make_node("Relu", ["x"], ["y"])])))

try:
    ort.InferenceSession("nowhere/model.onnx")
except NoSuchFile as error:
    report("caught", "nowhere/model.onnx" in str(error))
try:
    session.run(None, {"image": image[0]})
except InvalidArgument as error:
    report("named", "image" in str(error))
report("classes", [issubclass(c, Exception) for c in (Fail, InvalidGraph, InvalidProtobuf)])

options = ort.SessionOptions()
attempt("no such entry", lambda: options.get_session_config_entry("nothing"))
attempt("threads", lambda: setattr(options, "intra_op_num_threads", "two"))
attempt("level", lambda: setattr(options, "graph_optimization_level", 99))
attempt("attribute", lambda: setattr(options, "nothing", 1))
attempt("severity", lambda: ort.set_default_logger_severity(9))
attempt("providers", lambda: ort.InferenceSession(DIGITS, providers=[3]))
stopped = ort.RunOptions()
stopped.terminate = True
attempt("terminated", lambda: session.run(None, {"image": image}, stopped))
stopped.terminate = False
attempt("no more", lambda: session.run(None, {"image": image}, stopped))
