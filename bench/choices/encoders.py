#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the layers of known encoders as ONNX files: encoders.py FOLDER [NAME...]; without a folder, prints the names.

All layers of one read the same random weights, so that files are small: what a node takes follows from its shape alone.
A name with _own has weights of its own in each layer, as files of real networks do: for what loading takes.
The texts are whole encoders as exports have them: input_ids and attention_mask of any batch and length, the mean of the tokens.
"""
import pathlib
import sys

# name: layers, tokens, width, heads, width of the feed-forward part
ENCODERS = {"minilm_s128": (6, 128, 384, 12, 1536), "bert_base_s128": (12, 128, 768, 12, 3072),
            "vit_b_16": (12, 197, 768, 12, 3072)}
TEXTS = {"minilm_text": "minilm_s128", "bert_base_text": "bert_base_s128"}
OWN = "_own"
WORDS, LONGEST = 30522, 512


class Graph:
    def __init__(self, tokens, width, heads):
        import numpy
        from onnx import helper, numpy_helper

        self.helper, self.to_proto, self.numpy = helper, numpy_helper.from_array, numpy
        self.random = numpy.random.default_rng(1)
        self.tokens, self.width, self.heads = tokens, width, heads
        self.nodes, self.constants, self.count = [], {}, 0
        self.prefix = ""  # of the weights of a layer

    def constant(self, name, values):
        self.constants.setdefault(name, self.to_proto(self.numpy.asarray(values), name))
        return name

    def weights(self, name, *shape):
        name = self.prefix + name
        if name not in self.constants:
            self.constant(name, (self.random.standard_normal(shape) / 30).astype("float32"))
        return name

    def node(self, op, *inputs, **attributes):
        self.count += 1
        name = f"{op.lower()}_{self.count}"
        self.nodes.append(self.helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def dense(self, x, name, wide, deep):
        product = self.node("MatMul", x, self.weights(name, wide, deep))
        return self.node("Add", product, self.weights(f"{name}_bias", deep))

    def split_heads(self, x, order):
        shape = self.constant("heads", self.numpy.array([0, 0, self.heads, self.width // self.heads], "int64"))
        return self.node("Transpose", self.node("Reshape", x, shape), perm=order)

    def norm(self, x, name):
        scale, bias = self.weights(f"{name}_scale", self.width), self.weights(f"{name}_bias", self.width)
        return self.node("LayerNormalization", x, scale, bias, axis=-1)

    def gelu(self, x):
        half, root, one = (self.constant(name, self.numpy.float32(value))
                           for name, value in (("half", 0.5), ("root", 2 ** -0.5), ("one", 1)))
        gate = self.node("Add", self.node("Erf", self.node("Mul", x, root)), one)
        return self.node("Mul", self.node("Mul", x, gate), half)

    def layer(self, x, deep, mask=None):
        query, key, value = (self.dense(x, name, self.width, self.width) for name in ("query", "key", "value"))
        scores = self.node("MatMul", self.split_heads(query, [0, 2, 1, 3]), self.split_heads(key, [0, 2, 3, 1]))
        scale = self.constant("scale", self.numpy.float32((self.width // self.heads) ** -0.5))
        scores = self.node("Mul", scores, scale)
        weights = self.node("Softmax", self.node("Add", scores, mask) if mask else scores, axis=-1)
        mixed = self.node("MatMul", weights, self.split_heads(value, [0, 2, 1, 3]))
        shape = self.constant("joined", self.numpy.array([0, 0, self.width], "int64"))
        joined = self.node("Reshape", self.node("Transpose", mixed, perm=[0, 2, 1, 3]), shape)
        x = self.norm(self.node("Add", x, self.dense(joined, "output", self.width, self.width)), "first")
        wide = self.gelu(self.dense(x, "expand", self.width, deep))
        return self.norm(self.node("Add", x, self.dense(wide, "contract", deep, self.width)), "second")

    def integers(self, name, *values):
        return self.constant(name, self.numpy.array(values, "int64"))

    def embedding(self):
        words = self.node("Gather", self.weights("words", WORDS, self.width), "input_ids")
        count = self.node("Gather", self.node("Shape", "input_ids"), self.integers("axis_1", 1))
        positions = self.node("Slice", self.weights("positions", LONGEST, self.width), self.integers("first", 0), count)
        return self.norm(self.node("Add", words, positions), "embedding")

    def mask_of_scores(self):
        live = self.node("Unsqueeze", self.node("Cast", "attention_mask", to=1), self.integers("axes_12", 1, 2))
        one, far = self.constant("live", self.numpy.float32(1)), self.constant("far", self.numpy.float32(-1e4))
        return self.node("Mul", self.node("Sub", one, live), far)

    def mean_of_tokens(self, x):
        live = self.node("Unsqueeze", self.node("Cast", "attention_mask", to=1), self.integers("axis_2", 2))
        axis = self.integers("axis_1", 1)
        sums = self.node("ReduceSum", self.node("Mul", x, live), axis, keepdims=0)
        return self.node("Div", sums, self.node("ReduceSum", live, axis, keepdims=0))

    def model(self, name, result):
        shape = [1, self.tokens, self.width]
        value = [self.helper.make_tensor_value_info(value, 1, shape) for value in ("x", result)]
        return self.model_of(name, value[:1], value[1:])

    def text_model(self, name, result):
        info = self.helper.make_tensor_value_info
        inputs = [info(value, 7, ["batch", "tokens"]) for value in ("input_ids", "attention_mask")]
        return self.model_of(name, inputs, [info(result, 1, ["batch", self.width])])

    def model_of(self, name, inputs, outputs):
        graph = self.helper.make_graph(self.nodes, name, inputs, outputs, list(self.constants.values()))
        return self.helper.make_model(graph, opset_imports=[self.helper.make_opsetid("", 17)], ir_version=8)


def write(name, folder):
    import onnx

    shared = name.removesuffix(OWN)
    is_text = shared in TEXTS
    layers, tokens, width, heads, deep = ENCODERS[TEXTS.get(shared, shared)]
    graph = Graph(tokens, width, heads)
    x, mask = (graph.embedding(), graph.mask_of_scores()) if is_text else ("x", None)
    for layer in range(layers):
        graph.prefix = f"{layer}_" if shared != name else ""
        x = graph.layer(x, deep, mask)
    model = graph.text_model(name, graph.mean_of_tokens(x)) if is_text else graph.model(name, x)
    onnx.checker.check_model(model)
    partial = folder / f"{name}.partial"
    onnx.save(model, partial)
    partial.rename(folder / f"{name}.onnx")


def main():
    if len(sys.argv) == 1:
        print(*ENCODERS, *TEXTS, *(name + OWN for name in (*ENCODERS, *TEXTS)), sep="\n")
        return
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or ENCODERS:
        write(name, folder)


if __name__ == "__main__":
    main()
