#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the embedded digit classifier and writes models/embedded/digits.onnx.

Data: the 1,797 handwritten digits that scikit-learn ships (UCI "Optical Recognition of Handwritten Digits"), drawn at
28x28 with random shifts, rotations, sizes, slants, stroke widths and noise. Bright strokes on black, values 0 to 1.
Network: 5x5 convolution to 8 channels, pool, 3x3 to 16, pool, 64 hidden units, 10 scores. Plain numpy, fixed seed, a
few minutes on one core.
"""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image, ImageFilter
from sklearn.datasets import load_digits

SIZE, SEED, EPOCHS, BATCH = 28, 7, 24, 64


def draw(image, rng, distort):
    """An 8x8 digit (0 to 16) as a 28x28 picture, digit about 20 pixels high."""
    picture = Image.fromarray((image * (255 / 16)).astype(np.uint8)).resize((22, 22), Image.BICUBIC)
    canvas = Image.new("L", (SIZE, SIZE))
    canvas.paste(picture, (3, 3))
    if distort:
        angle, slant = np.deg2rad(rng.uniform(-12, 12)), rng.uniform(-0.2, 0.2)
        sx, sy = rng.uniform(0.8, 1.25, 2)
        a, b = np.cos(angle) * sx, (np.sin(angle) + slant) * sx
        d, e = -np.sin(angle) * sy, np.cos(angle) * sy
        c, m = rng.uniform(-3, 3, 2), SIZE / 2
        canvas = canvas.transform(canvas.size, Image.AFFINE, (a, b, m - a * m - b * m + c[0], d, e, m - d * m - e * m + c[1]),
                                  Image.BILINEAR)
        if rng.random() < 0.3:
            canvas = canvas.filter(ImageFilter.MaxFilter(3))
        elif rng.random() < 0.2:
            canvas = canvas.filter(ImageFilter.MinFilter(3))
    values = np.asarray(canvas, np.float32) / 255
    if distort:
        values = np.clip(values * rng.uniform(0.8, 1.6) + rng.normal(0, 0.03, values.shape), 0, 1)
    return values.astype(np.float32)


def patches(x, k):
    """[n, c, h, w] -> [n, h - k + 1, w - k + 1, c * k * k]."""
    view = np.lib.stride_tricks.sliding_window_view(x, (k, k), axis=(2, 3))
    return np.ascontiguousarray(view.transpose(0, 2, 3, 1, 4, 5)).reshape(*view.shape[:1], view.shape[2], view.shape[3], -1)


class Conv:
    def __init__(self, rng, a, b, k):
        self.k, self.p = k, k // 2
        self.w = rng.normal(0, np.sqrt(2 / (a * k * k)), (a * k * k, b)).astype(np.float32)
        self.b = np.zeros(b, np.float32)

    def forward(self, x):
        self.shape = x.shape
        self.x = patches(np.pad(x, ((0, 0), (0, 0), (self.p, self.p), (self.p, self.p))), self.k)
        return (self.x @ self.w + self.b).transpose(0, 3, 1, 2)

    def backward(self, g):
        g = np.ascontiguousarray(g.transpose(0, 2, 3, 1))
        flat = g.reshape(-1, g.shape[-1])
        self.grads = [self.x.reshape(-1, self.x.shape[-1]).T @ flat, flat.sum(0)]
        columns = (g @ self.w.T).reshape(*g.shape[:3], self.shape[1], self.k, self.k)
        n, c, h, w = self.shape
        padded = np.zeros((n, c, h + 2 * self.p, w + 2 * self.p), np.float32)
        for i in range(self.k):
            for j in range(self.k):
                padded[:, :, i:i + h, j:j + w] += columns[..., i, j].transpose(0, 3, 1, 2)
        return padded[:, :, self.p:self.p + h, self.p:self.p + w]

    def params(self):
        return [self.w, self.b]


class Dense:
    def __init__(self, rng, a, b):
        self.w = rng.normal(0, np.sqrt(2 / a), (a, b)).astype(np.float32)
        self.b = np.zeros(b, np.float32)

    def forward(self, x):
        self.shape, self.x = x.shape, x.reshape(len(x), -1)
        return self.x @ self.w + self.b

    def backward(self, g):
        self.grads = [self.x.T @ g, g.sum(0)]
        return (g @ self.w.T).reshape(self.shape)

    def params(self):
        return [self.w, self.b]


class Relu:
    def forward(self, x):
        self.mask = x > 0
        return x * self.mask

    def backward(self, g):
        return g * self.mask


class Pool:
    def forward(self, x):
        n, c, h, w = x.shape
        self.x = x.reshape(n, c, h // 2, 2, w // 2, 2)
        self.y = self.x.max(axis=(3, 5))
        return self.y

    def backward(self, g):
        hit = self.x == self.y[:, :, :, None, :, None]
        spread = hit * (g / np.maximum(1, hit.sum(axis=(3, 5))))[:, :, :, None, :, None]
        n, c, h, _, w, _ = self.x.shape
        return spread.reshape(n, c, 2 * h, 2 * w).astype(np.float32)


def accuracy(layers, x, y):
    for layer in layers:
        x = layer.forward(x)
    return float((x.argmax(1) == y).mean())


def train():
    rng = np.random.default_rng(SEED)
    digits = load_digits()
    order = rng.permutation(len(digits.images))
    images, labels = digits.images[order], digits.target[order]
    held = 297
    test = np.stack([draw(i, rng, False) for i in images[:held]])[:, None]
    layers = [Conv(rng, 1, 8, 5), Relu(), Pool(), Conv(rng, 8, 16, 3), Relu(), Pool(), Dense(rng, 16 * 49, 64), Relu(), Dense(rng, 64, 10)]
    trainable = [layer for layer in layers if hasattr(layer, "params")]
    moments = [[np.zeros_like(p), np.zeros_like(p)] for layer in trainable for p in layer.params()]
    step = 0
    for epoch in range(EPOCHS):
        rate = 2e-3 * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS)) + 1e-5
        indices = rng.permutation(np.arange(held, len(images)))
        for begin in range(0, len(indices) - BATCH + 1, BATCH):
            chosen = indices[begin:begin + BATCH]
            x = np.stack([draw(images[i], rng, True) for i in chosen])[:, None]
            for layer in layers:
                x = layer.forward(x)
            scores = np.exp(x - x.max(1, keepdims=True))
            gradient = scores / scores.sum(1, keepdims=True)
            gradient[np.arange(BATCH), labels[chosen]] -= 1
            gradient = (gradient / BATCH).astype(np.float32)
            for layer in reversed(layers):
                gradient = layer.backward(gradient)
            step += 1
            pairs = [(p, g) for layer in trainable for p, g in zip(layer.params(), layer.grads)]
            for (p, g), m in zip(pairs, moments):
                m[0] += 0.1 * (g - m[0])
                m[1] += 0.001 * (g * g - m[1])
                p -= rate * (m[0] / (1 - 0.9 ** step)) / (np.sqrt(m[1] / (1 - 0.999 ** step)) + 1e-8)
        print(f"epoch {epoch + 1}: {accuracy(layers, test, labels[:held]):.4f} on {held} digits held out", flush=True)
    return layers


def export(layers, path):
    first, second, hidden, last = (layers[i] for i in (0, 3, 6, 8))
    weight = lambda conv, a: conv.w.T.reshape(-1, a, conv.k, conv.k)
    tensors = {"conv1.weight": weight(first, 1), "conv1.bias": first.b, "conv2.weight": weight(second, 8), "conv2.bias": second.b,
               "fc1.weight": hidden.w, "fc1.bias": hidden.b, "fc2.weight": last.w, "fc2.bias": last.b}
    nodes = [
        helper.make_node("Conv", ["image", "conv1.weight", "conv1.bias"], ["conv1"], name="conv1", kernel_shape=[5, 5], pads=[2] * 4),
        helper.make_node("Relu", ["conv1"], ["relu1"], name="relu1"),
        helper.make_node("MaxPool", ["relu1"], ["pool1"], name="pool1", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["pool1", "conv2.weight", "conv2.bias"], ["conv2"], name="conv2", kernel_shape=[3, 3], pads=[1] * 4),
        helper.make_node("Relu", ["conv2"], ["relu2"], name="relu2"),
        helper.make_node("MaxPool", ["relu2"], ["pool2"], name="pool2", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["pool2"], ["flat"], name="flatten"),
        helper.make_node("Gemm", ["flat", "fc1.weight", "fc1.bias"], ["fc1"], name="fc1"),
        helper.make_node("Relu", ["fc1"], ["relu3"], name="relu3"),
        helper.make_node("Gemm", ["relu3", "fc2.weight", "fc2.bias"], ["scores"], name="fc2"),
        helper.make_node("Softmax", ["scores"], ["probabilities"], name="softmax", axis=1),
    ]
    info = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "digits", [info("image", ["batch", 1, SIZE, SIZE])], [info("probabilities", ["batch", 10])],
                              [numpy_helper.from_array(np.ascontiguousarray(v, np.float32), k) for k, v in tensors.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="colonnade")
    model.ir_version = 8
    onnx.checker.check_model(model)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))


if __name__ == "__main__":
    export(train(), pathlib.Path(__file__).resolve().parent / "embedded" / "digits.onnx")
