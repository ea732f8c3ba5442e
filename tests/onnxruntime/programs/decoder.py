# SPDX-License-Identifier: Apache-2.0
"""Writes a small decoder of random weights with what onnxruntime-genai reads beside it. Arguments: the folder, and
'shared' where caches lie in one buffer before a word and after it."""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WORDS, WIDTH, HEADS, SHARED, HEAD, LAYERS, LONGEST = 256, 64, 4, 2, 16, 2, 512


class Decoder:
    def __init__(self) -> None:
        self.random = np.random.default_rng(0)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", size])
            for name, size in (("input_ids", "new"), ("attention_mask", "all"))
        ]
        self.outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "new", WORDS])]

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def node(self, op: str, inputs: list[str], output: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def product(self, x: str, rows: int, columns: int, output: str) -> str:
        weights = self.random.standard_normal((rows, columns)).astype(np.float32) * np.float32(rows**-0.5)
        return self.node("MatMul", [x, self.constant(output + ".weight", weights)], output)

    def norm(self, x: str, output: str) -> str:
        scale = self.constant(output + ".scale", np.ones(WIDTH, np.float32))
        return self.node("SimplifiedLayerNormalization", [x, scale], output, axis=-1, epsilon=1e-5)

    def lengths(self) -> None:
        one, axis = self.constant("one", np.array(1, np.int64)), self.constant("axis", np.array([1], np.int64))
        self.node("ReduceSum", ["attention_mask", axis], "count", keepdims=0)
        self.node("Cast", [self.node("Sub", ["count", one], "before")], "past_lengths", to=TensorProto.INT32)
        self.node("Gather", [self.node("Shape", ["attention_mask"], "mask_shape"), one], "all_long")
        self.node("Cast", ["all_long"], "total", to=TensorProto.INT32)
        angles = np.arange(LONGEST)[:, None] / 10000 ** (np.arange(HEAD // 2) / (HEAD // 2))
        self.constant("cosines", np.cos(angles).astype(np.float32))
        self.constant("sines", np.sin(angles).astype(np.float32))

    def layer(self, x: str, index: int) -> str:
        name = f"layer{index}."
        normed = self.norm(x, name + "normed")
        parts = [self.product(normed, WIDTH, heads * HEAD, name + part) for part, heads in (("q", HEADS), ("k", SHARED), ("v", SHARED))]
        past = [f"past_key_values.{index}.{part}" for part in ("key", "value")]
        present = [f"present.{index}.{part}" for part in ("key", "value")]
        inputs = [*parts, *past, "past_lengths", "total", "cosines", "sines"]
        self.nodes.append(
            helper.make_node(
                "GroupQueryAttention", inputs, [name + "seen", *present], domain="com.microsoft", num_heads=HEADS,
                kv_num_heads=SHARED, do_rotary=1,
            )
        )  # fmt: skip
        for names, values, size in ((past, self.inputs, "past"), (present, self.outputs, "all")):
            values += [helper.make_tensor_value_info(part, TensorProto.FLOAT, ["batch", SHARED, size, HEAD]) for part in names]
        y = self.node("Add", [x, self.product(name + "seen", HEADS * HEAD, WIDTH, name + "attended")], name + "y")
        normed = self.norm(y, name + "normed_again")
        gate, up = (self.product(normed, WIDTH, 4 * WIDTH, name + part) for part in ("gate", "up"))
        gate = self.node("Mul", [gate, self.node("Sigmoid", [gate], name + "sigmoid")], name + "gated")
        hidden = self.node("Mul", [gate, up], name + "hidden")
        return self.node("Add", [y, self.product(hidden, 4 * WIDTH, WIDTH, name + "down")], name + "out")

    def model(self) -> onnx.ModelProto:
        self.lengths()
        table = self.constant("table", self.random.standard_normal((WORDS, WIDTH)).astype(np.float32))
        x = self.node("Gather", [table, "input_ids"], "embedded")
        for index in range(LAYERS):
            x = self.layer(x, index)
        self.product(self.norm(x, "last"), WIDTH, WORDS, "logits")
        graph = helper.make_graph(self.nodes, "decoder", self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def config(shares: bool) -> dict[str, object]:
    past = {"past_key_names": "past_key_values.%d.key", "past_value_names": "past_key_values.%d.value"}
    present = {"present_key_names": "present.%d.key", "present_value_names": "present.%d.value"}
    decoder = {
        "session_options": {"provider_options": []},
        "filename": "model.onnx",
        "head_size": HEAD,
        "hidden_size": WIDTH,
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "num_key_value_heads": SHARED,
        "inputs": {"input_ids": "input_ids", "attention_mask": "attention_mask", **past},
        "outputs": {"logits": "logits", **present},
    }
    model = {"type": "llama", "vocab_size": WORDS, "context_length": LONGEST, "decoder": decoder}
    tokens = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    return {"model": {**model, **tokens}, "search": {"max_length": 64, "past_present_share_buffer": shares}}


folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
onnx.save(Decoder().model(), str(folder / "model.onnx"))
(folder / "genai_config.json").write_text(json.dumps(config("shared" in sys.argv[2:])))
