# SPDX-License-Identifier: Apache-2.0
# What tools read of a model before they run it.
import onnx
import onnxruntime
from onnx import TensorProto, helper


def info(arguments):
    return [(a.name, a.type, a.shape) for a in arguments]


nodes = [helper.make_node("Identity", [f"x{i}"], [f"y{i}"]) for i in range(9)]
types = [
    TensorProto.FLOAT,
    TensorProto.DOUBLE,
    TensorProto.FLOAT16,
    TensorProto.BFLOAT16,
    TensorProto.INT64,
    TensorProto.UINT8,
    TensorProto.BOOL,
    TensorProto.STRING,
    TensorProto.INT32,
]
shapes = [["batch", 3], [None, 3], [], [1], ["N", "M"], [2, 2], [4], ["words"], [0]]
values = list(zip(types, shapes))
model = helper.make_model(
    helper.make_graph(
        nodes,
        "name of the graph",
        [helper.make_tensor_value_info(f"x{i}", t, s) for i, (t, s) in enumerate(values)],
        [helper.make_tensor_value_info(f"y{i}", t, s) for i, (t, s) in enumerate(values)],
        doc_string="the graph",
    ),
    opset_imports=[helper.make_opsetid("", 17)],
    ir_version=8,
    producer_name="producer",
    domain="org.example",
    model_version=42,
    doc_string="the model",
)
helper.set_model_props(model, {"classes": "cat,dog", "empty": ""})
session = onnxruntime.InferenceSession(model.SerializeToString())
report("inputs", info(session.get_inputs()))
report("outputs", info(session.get_outputs()))
report("argument", str(session.get_inputs()[0]))
meta = session.get_modelmeta()
report(
    "meta",
    [
        meta.producer_name,
        meta.graph_name,
        meta.domain,
        meta.description,
        meta.graph_description,
        meta.version,
        sorted(meta.custom_metadata_map.items()),
    ],
)
report("providers", session.get_providers())
report("options of providers", session.get_provider_options())
report("overridable", info(session.get_overridable_initializers()))
report("device", onnxruntime.get_device())
report("cpu", "CPUExecutionProvider" in onnxruntime.get_available_providers())
report("version", [part.isdigit() for part in onnxruntime.__version__.split(".")[:2]])

digits = onnx.load(DIGITS)
session = onnxruntime.InferenceSession(DIGITS)
report("digits", info(session.get_inputs()) + info(session.get_outputs()))
report("producer", session.get_modelmeta().producer_name == digits.producer_name)
