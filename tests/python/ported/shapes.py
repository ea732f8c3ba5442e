# SPDX-License-Identifier: Apache-2.0
# Open dimensions, overrides, models in memory, attention over a sequence.
import os
import pathlib
import tempfile

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(5)
weights = {
    name: numpy_helper.from_array(rng.standard_normal((16, 16)).astype(np.float32) / 4, name) for name in ("q", "k", "v")
}
nodes = [helper.make_node("MatMul", ["tokens", name], [f"{name}_out"]) for name in weights]
nodes += [
    helper.make_node("Transpose", ["k_out"], ["k_t"], perm=[0, 2, 1]),
    helper.make_node("MatMul", ["q_out", "k_t"], ["scores"]),
    helper.make_node("Softmax", ["scores"], ["attention"], axis=-1),
    helper.make_node("MatMul", ["attention", "v_out"], ["mixed"]),
    helper.make_node("Add", ["tokens", "mixed"], ["hidden"]),
]
model = helper.make_model(
    helper.make_graph(
        nodes,
        "attention",
        [helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["batch", "length", 16])],
        [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["batch", "length", 16])],
        list(weights.values()),
    ),
    opset_imports=[helper.make_opsetid("", 17)],
    ir_version=8,
).SerializeToString()

session = ort.InferenceSession(model)
for batch, length in ((1, 4), (2, 7), (1, 4), (3, 1)):
    tokens = rng.standard_normal((batch, length, 16)).astype(np.float32)
    report(f"{batch}x{length}", session.run(["hidden"], {"tokens": tokens})[0])

options = ort.SessionOptions()
options.add_free_dimension_override_by_name("batch", 2)
options.add_free_dimension_override_by_name("nothing", 5)
session = ort.InferenceSession(model, options)
report("overridden", session.get_inputs()[0].shape)
report("its run", session.run(None, {"tokens": np.ones((2, 3, 16), np.float32)})[0])

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "model.onnx"
    path.write_bytes(model)
    session = ort.InferenceSession(path, providers=[("CPUExecutionProvider", {"arena_extend_strategy": "kSameAsRequested"})])
    report("a path", session.run(None, {"tokens": np.ones((1, 2, 16), np.float32)})[0])
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = os.path.join(folder, "profile")
    session = ort.InferenceSession(str(path), options)
    session.run(None, {"tokens": np.ones((1, 2, 16), np.float32)})
    name = session.end_profiling()
    report("profile", [os.path.basename(name).startswith("profile"), os.path.getsize(name) > 0])

pair = helper.make_model(
    helper.make_graph(
        [helper.make_node("Add", ["a", "b"], ["sum"]), helper.make_node("MatMul", ["a", "w"], ["product"])],
        "pair",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("a", ["n", 2]), ("b", ["n", 2]), ("w", [2, "n"]))],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", None]) for name in ("sum", "product")],
    ),
    opset_imports=[helper.make_opsetid("", 17)],
    ir_version=8,
).SerializeToString()
session = ort.InferenceSession(pair)
report("names of sizes", [value.shape for value in session.get_inputs()])
for a, b, w in ((2, 2, 2), (1, 3, 4), (3, 1, 5), (2, 3, 1)):
    feeds = {"a": np.full((a, 2), 2, np.float32), "b": np.ones((b, 2), np.float32), "w": np.ones((2, w), np.float32)}
    try:
        report(f"sizes {a}, {b}, {w}", session.run(None, feeds))
    except Exception as error:
        report(f"sizes {a}, {b}, {w}", type(error).__name__)
options = ort.SessionOptions()
options.add_free_dimension_override_by_name("n", 2)
session = ort.InferenceSession(pair, options)
try:
    report("one size", session.run(None, feeds))
except Exception as error:
    report("one size", type(error).__name__)
