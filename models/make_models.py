#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the untrained models under models/embedded and, on request, the networks of the benchmarks.

Weights are made inside the graph, so that files stay small: sin(range * step + phase) * scale, scaled to keep
activations in range. Constant folding turns them into plain weights when a model is loaded.

  make_models.py                 writes models/embedded/{mobilenet,unet}.onnx
  make_models.py --out DIR NAME  writes one part of a network: inverted_residual, resnet_block

The usual networks, with plain weights, come from networks.py.
"""
import argparse
import math
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper


class Net:
    """Builds a graph of float32 NCHW tensors; every method returns the name of its output."""

    def __init__(self, name):
        self.name, self.nodes, self.initializers, self.count, self.seed = name, [], [], 0, 1

    def fresh(self, hint):
        self.count += 1
        return f"{hint}_{self.count}"

    def constant(self, hint, values, dtype):
        name = self.fresh(hint)
        array = np.asarray(values, dtype=dtype)
        self.initializers.append(onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, op, inputs, hint=None, **attributes):
        out = self.fresh(hint or op.lower())
        self.nodes.append(helper.make_node(op, inputs, [out], name=out, **attributes))
        return out

    def weights(self, shape, scale):
        """A pseudo-random tensor whose elements lie within +-scale, made by operators."""
        count = int(np.prod(shape))
        self.seed += 1
        zero, one = self.constant("zero", 0, np.float32), self.constant("one", 1, np.float32)
        limit = self.constant("count", count, np.float32)
        ramp = self.node("Range", [zero, limit, one])
        angle = self.node("Mul", [ramp, self.constant("step", 1.7 + 0.37 * (self.seed % 89), np.float32)])
        wave = self.node("Mul", [self.node("Sin", [angle]), self.constant("scale", scale, np.float32)])
        return self.node("Reshape", [wave, self.constant("shape", shape, np.int64)], hint="weight")

    def conv(self, x, channels_in, channels_out, kernel, stride=1, groups=1, gain=1.0):
        fan_in = channels_in // groups * kernel * kernel
        weight = self.weights([channels_out, channels_in // groups, kernel, kernel], gain * math.sqrt(4.0 / fan_in))
        bias = self.weights([channels_out], 0.1)
        pad = kernel // 2
        return self.node("Conv", [x, weight, bias], kernel_shape=[kernel, kernel], strides=[stride, stride],
                         pads=[pad] * 4, group=groups)

    def relu(self, x):
        return self.node("Relu", [x])

    def relu6(self, x):
        return self.node("Clip", [x, self.constant("low", 0, np.float32), self.constant("high", 6, np.float32)])

    def save(self, path, inputs, outputs):
        """inputs and outputs: (name, shape)."""
        infos = lambda pairs: [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in pairs]
        graph = helper.make_graph(self.nodes, self.name, infos(inputs), infos(outputs), self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="colonnade")
        model.ir_version = 8
        onnx.checker.check_model(model)
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        onnx.save(model, path)
        print(f"{path}: {pathlib.Path(path).stat().st_size} bytes")

    def finish(self, x, name):
        self.nodes.append(helper.make_node("Identity", [x], [name], name=name))


def inverted_residual(net, x, channels_in, channels_out, stride, expand):
    middle = channels_in * expand
    y = x if expand == 1 else net.relu6(net.conv(x, channels_in, middle, 1))
    y = net.relu6(net.conv(y, middle, middle, 3, stride, groups=middle))
    y = net.conv(y, middle, channels_out, 1, gain=0.7)
    return net.node("Add", [x, y]) if stride == 1 and channels_in == channels_out else y


def mobilenet(path):
    """MobileNetV2 (Sandler et al., 2018, table 2), 224x224, width 1."""
    net = Net("mobilenet")
    x, channels = net.relu6(net.conv("image", 3, 32, 3, 2)), 32
    for expand, out, repeat, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                        (6, 160, 3, 2), (6, 320, 1, 1)]:
        for i in range(repeat):
            x = inverted_residual(net, x, channels, out, stride if i == 0 else 1, expand)
            channels = out
    x = net.relu6(net.conv(x, channels, 1280, 1))
    x = net.node("Flatten", [net.node("GlobalAveragePool", [x])], axis=1)
    x = net.node("Gemm", [x, net.weights([1000, 1280], 0.05), net.weights([1000], 0.1)], transB=1)
    net.finish(net.node("Softmax", [x], axis=1), "probabilities")
    net.save(path, [("image", ["batch", 3, 224, 224])], [("probabilities", ["batch", 1000])])


def unet(path):
    """U-Net (Ronneberger et al., 2015) with 16 to 128 channels, 256x256, one channel out."""
    net = Net("unet")
    pair = lambda x, a, b: net.relu(net.conv(net.relu(net.conv(x, a, b, 3)), b, b, 3))
    skips, x, channels = [], "image", 3
    for width in (16, 32, 64):
        x = pair(x, channels, width)
        skips.append(x)
        x, channels = net.node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2]), width
    x, channels = pair(x, channels, 128), 128
    for width, skip in zip((64, 32, 16), reversed(skips)):
        up = net.node("ConvTranspose", [x, net.weights([channels, width, 2, 2], math.sqrt(4.0 / channels)),
                                        net.weights([width], 0.1)], kernel_shape=[2, 2], strides=[2, 2])
        x, channels = pair(net.node("Concat", [skip, up], axis=1), 2 * width, width), width
    net.finish(net.node("Sigmoid", [net.conv(x, channels, 1, 1)]), "mask")
    net.save(path, [("image", ["batch", 3, 256, 256])], [("mask", ["batch", 1, 256, 256])])


def inverted_residual_block(path):
    """One inverted residual block, 32-192-32 channels, 180x320."""
    net = Net("inverted_residual")
    net.finish(inverted_residual(net, "x", 32, 32, 1, 6), "y")
    net.save(path, [("x", [1, 32, 180, 320])], [("y", [1, 32, 180, 320])])


def resnet_block(path):
    """Two basic residual blocks of 64 channels, 56x56."""
    net = Net("resnet_block")
    x = "x"
    for _ in range(2):
        y = net.conv(net.relu(net.conv(x, 64, 64, 3, gain=0.7)), 64, 64, 3, gain=0.7)
        x = net.relu(net.node("Add", [x, y]))
    net.finish(x, "y")
    net.save(path, [("x", [1, 64, 56, 56])], [("y", [1, 64, 56, 56])])


NETWORKS = {"inverted_residual": inverted_residual_block, "resnet_block": resnet_block, "mobilenet": mobilenet,
            "unet": unet}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", help="folder for the named networks")
    parser.add_argument("names", nargs="*", choices=[[], *NETWORKS], help="networks to write")
    arguments = parser.parse_args()
    here = pathlib.Path(__file__).resolve().parent
    if arguments.names:
        for name in arguments.names:
            NETWORKS[name](str(pathlib.Path(arguments.out or here) / f"{name}.onnx"))
        return
    mobilenet(str(here / "embedded" / "mobilenet.onnx"))
    unet(str(here / "embedded" / "unet.onnx"))


if __name__ == "__main__":
    main()
