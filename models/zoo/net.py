# SPDX-License-Identifier: Apache-2.0
"""Builds ONNX graphs of float32 NCHW tensors, layer by layer, with seeded weights that keep activations in range.

Every layer's method takes and returns a Value. A Value carries an estimate of its root mean square, from which the
weights of the next layer are scaled so that each convolution and matrix product yields about 1: He initialisation that
knows what lies between two layers. Parameters are called NODE.weight, .bias or .folded, the last being a bias into
which a batch norm was folded, as exporters do.
"""
import dataclasses
import math
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper

OPSET, IR_VERSION = 17, 8

# What an activation does to the root mean square of normal values.
GAIN = {"Relu": 0.71, "Clip": 0.71, "PRelu": 0.73, "HardSwish": 0.58, "Tanh": 0.63}
GATE = 0.52  # the root mean square of a sigmoid


@dataclasses.dataclass(frozen=True)
class Value:
    name: str
    shape: tuple
    rms: float

    @property
    def channels(self):
        return self.shape[1]

    @property
    def size(self):
        return self.shape[2:]


def make_divisible(value, divisor=8):
    """The nearest multiple that is not more than a tenth below the value (MobileNet's rounding of channels)."""
    rounded = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * value else rounded


def pair(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


def window(size, kernel, stride, pad, dilation=(1, 1), ceil=False):
    """How many positions a window has in each dimension."""
    divide = (lambda a, b: -(-a // b)) if ceil else (lambda a, b: a // b)
    return tuple(divide(n + 2 * p - d * (k - 1) - 1, s) + 1
                 for n, k, s, p, d in zip(size, kernel, stride, pad, dilation))


class Net:
    def __init__(self, name):
        self.name, self.nodes, self.initializers, self.inputs, self.outputs = name, [], [], [], []
        self.random = np.random.default_rng(zlib.crc32(name.encode()))

    def input(self, name, shape):
        self.inputs.append((name, shape))
        return Value(name, tuple(shape), 1.0)

    def output(self, x, name):
        """Renames the result of a node, which nothing may have read yet."""
        for node in self.nodes:
            node.output[:] = [name if out == x.name else out for out in node.output]
        self.outputs.append((name, x.shape))

    def node(self, op, inputs, shape, rms, **attributes):
        """One node with one output; inputs are Values or names."""
        name = f"{op.lower()}_{len(self.nodes)}"
        inputs = [i.name if isinstance(i, Value) else i for i in inputs]
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return Value(name, tuple(shape), rms)

    def constant(self, values, dtype=np.int64):
        name = f"constant_{len(self.initializers)}"
        self.initializers.append(onnx.numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name

    def parameter(self, kind, shape, low, high):
        """Uniform random values; kind is weight, bias, folded, mean or variance."""
        values = self.random.random(shape, dtype=np.float32)
        values *= np.float32(high - low)
        values += np.float32(low)
        name = f"parameter_{len(self.initializers)}.{kind}"
        self.initializers.append(onnx.numpy_helper.from_array(values, name))
        return name

    def weight(self, shape, fan_in, x, gain=1.0):
        limit = gain * math.sqrt(3.0 / fan_in) / x.rms
        return self.parameter("weight", shape, -limit, limit)

    # Convolutions and matrix products.

    def conv(self, x, channels, kernel, stride=1, pad=None, groups=1, dilation=1, bias="folded", gain=1.0,
             offset=0.1):
        """Padded to keep the size, unless told.

        bias: folded (a batch norm follows in training), bias, or None, within +-offset.
        gain: root mean square of the result.
        """
        kernel, stride, dilation = pair(kernel), pair(stride), pair(dilation)
        pad = tuple(k // 2 * d for k, d in zip(kernel, dilation)) if pad is None else pair(pad)
        depth = x.channels // groups
        share = math.sqrt(1 - offset**2 / 3) if bias else 1.0
        inputs = [x, self.weight([channels, depth, *kernel], depth * math.prod(kernel), x, gain * share)]
        if bias:
            inputs.append(self.parameter(bias, [channels], -offset, offset))
        shape = (x.shape[0], channels, *window(x.size, kernel, stride, pad, dilation))
        return self.node("Conv", inputs, shape, gain, kernel_shape=kernel, strides=stride, pads=[*pad, *pad],
                         dilations=dilation, group=groups)

    def depthwise(self, x, kernel, stride=1, dilation=1, bias="folded"):
        return self.conv(x, x.channels, kernel, stride, groups=x.channels, dilation=dilation, bias=bias)

    def upconv(self, x, channels):
        """Transposed convolution, 2x2, stride 2."""
        weight = self.weight([x.channels, channels, 2, 2], x.channels, x)
        inputs = [x, weight, self.parameter("bias", [channels], -0.1, 0.1)]
        shape = (x.shape[0], channels, 2 * x.size[0], 2 * x.size[1])
        return self.node("ConvTranspose", inputs, shape, 1.0, kernel_shape=[2, 2], strides=[2, 2])

    def linear(self, x, channels):
        """Fully connected on [batch, channels]."""
        weight = self.weight([channels, x.shape[1]], x.shape[1], x)
        inputs = [x, weight, self.parameter("bias", [channels], -0.1, 0.1)]
        return self.node("Gemm", inputs, (x.shape[0], channels), 1.0, transB=1)

    def linear_last(self, x, channels):
        """Fully connected on the last axis of any tensor, as MatMul and Add."""
        weight = self.weight([x.shape[-1], channels], x.shape[-1], x)
        product = self.node("MatMul", [x, weight], (*x.shape[:-1], channels), 1.0)
        return self.node("Add", [self.parameter("bias", [channels], -0.1, 0.1), product], product.shape, 1.0)

    # Activations.

    def activation(self, op, x, *inputs, **attributes):
        return self.node(op, [x, *inputs], x.shape, GAIN[op] * x.rms, **attributes)

    def relu(self, x):
        return self.activation("Relu", x)

    def relu6(self, x):
        return self.activation("Clip", x, self.constant(0, np.float32), self.constant(6, np.float32))

    def prelu(self, x):
        return self.activation("PRelu", x, self.parameter("weight", [x.channels, 1, 1], 0.1, 0.4))

    def hard_swish(self, x):
        return self.activation("HardSwish", x)

    def hard_sigmoid(self, x):
        return self.node("HardSigmoid", [x], x.shape, GATE, alpha=1 / 6, beta=0.5)

    def sigmoid(self, x):
        return self.node("Sigmoid", [x], x.shape, GATE)

    def tanh(self, x):
        return self.activation("Tanh", x)

    def silu(self, x):
        return self.node("Mul", [x, self.sigmoid(x)], x.shape, 0.6 * x.rms)

    def gelu(self, x):
        scaled = self.node("Div", [x, self.constant(math.sqrt(2), np.float32)], x.shape, x.rms / math.sqrt(2))
        erf = self.node("Erf", [scaled], x.shape, 2 * GATE)
        gate = self.node("Add", [erf, self.constant(1, np.float32)], x.shape, 2 * GATE)
        product = self.node("Mul", [x, gate], x.shape, 1.3 * x.rms)
        return self.node("Mul", [product, self.constant(0.5, np.float32)], x.shape, 0.65 * x.rms)

    # Normalisations that cannot be folded.

    def batch_norm(self, x):
        scale, shift = self.parameter("weight", [x.channels], 0.8, 1.2), self.parameter("bias", [x.channels], -0.1, 0.1)
        mean = self.parameter("mean", [x.channels], -0.1, 0.1)
        variance = self.parameter("variance", [x.channels], 0.8 * x.rms**2, 1.2 * x.rms**2)
        return self.node("BatchNormalization", [x, scale, shift, mean, variance], x.shape, 1.0, epsilon=1e-5)

    def instance_norm(self, x):
        scale, shift = self.parameter("weight", [x.channels], 0.8, 1.2), self.parameter("bias", [x.channels], -0.1, 0.1)
        return self.node("InstanceNormalization", [x, scale, shift], x.shape, 1.0, epsilon=1e-5)

    def layer_norm(self, x):
        """Over the last axis."""
        scale = self.parameter("weight", [x.shape[-1]], 0.8, 1.2)
        shift = self.parameter("bias", [x.shape[-1]], -0.1, 0.1)
        return self.node("LayerNormalization", [x, scale, shift], x.shape, 1.0, axis=-1, epsilon=1e-6)

    # Pooling and resizing.

    def max_pool(self, x, kernel, stride, pad=0, ceil=False):
        shape = (*x.shape[:2], *window(x.size, pair(kernel), pair(stride), pair(pad), ceil=ceil))
        return self.node("MaxPool", [x], shape, 1.25 * x.rms, kernel_shape=pair(kernel), strides=pair(stride),
                         pads=[pad] * 4, ceil_mode=int(ceil))

    def average_pool(self, x, kernel, stride, pad=0):
        shape = (*x.shape[:2], *window(x.size, pair(kernel), pair(stride), pair(pad)))
        return self.node("AveragePool", [x], shape, 0.85 * x.rms, kernel_shape=pair(kernel), strides=pair(stride),
                         pads=[pad] * 4, count_include_pad=1)

    def global_pool(self, x):
        return self.node("GlobalAveragePool", [x], (*x.shape[:2], 1, 1), 0.75 * x.rms)

    def nearest(self, x, scale):
        shape = (*x.shape[:2], scale * x.size[0], scale * x.size[1])
        scales = self.constant([1, 1, scale, scale], np.float32)
        return self.node("Resize", [x, "", scales], shape, x.rms, mode="nearest",
                         coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def bilinear(self, x, size):
        shape = (*x.shape[:2], *size)
        return self.node("Resize", [x, "", "", self.constant(shape)], shape, x.rms, mode="linear",
                         coordinate_transformation_mode="half_pixel")

    def reflect_pad(self, x, pad):
        shape = (*x.shape[:2], x.size[0] + 2 * pad, x.size[1] + 2 * pad)
        return self.node("Pad", [x, self.constant([0, 0, pad, pad, 0, 0, pad, pad])], shape, x.rms, mode="reflect")

    # Joining and moving.

    def add(self, x, y):
        return self.node("Add", [x, y], x.shape, math.hypot(x.rms, y.rms))

    def add_relu(self, x, y):
        """The end of a residual block; what is added to is mostly such an end, positive, so that little is cut off."""
        total = self.add(x, y)
        return self.node("Relu", [total], x.shape, 0.93 * total.rms)

    def subtract(self, x, y):
        return self.node("Sub", [x, y], x.shape, math.hypot(x.rms, y.rms))

    def multiply(self, x, gate):
        return self.node("Mul", [x, gate], x.shape, x.rms * gate.rms)

    def concat(self, values, axis=1):
        shape = list(values[0].shape)
        shape[axis] = sum(v.shape[axis] for v in values)
        rms = math.sqrt(sum(v.rms**2 * v.shape[axis] for v in values) / shape[axis])
        return self.node("Concat", values, shape, rms, axis=axis)

    def halves(self, x):
        """Both halves of the channels."""
        half = x.channels // 2
        name = f"split_{len(self.nodes)}"
        outputs = [Value(f"{name}_{i}", (x.shape[0], half, *x.size), x.rms) for i in range(2)]
        self.nodes.append(helper.make_node("Split", [x.name, self.constant([half, half])], [o.name for o in outputs],
                                           name=name, axis=1))
        return outputs

    def reshape(self, x, shape):
        return self.node("Reshape", [x, self.constant(shape)], shape, x.rms)

    def transpose(self, x, order):
        return self.node("Transpose", [x], [x.shape[i] for i in order], x.rms, perm=order)

    def flatten(self, x):
        return self.node("Flatten", [x], (x.shape[0], math.prod(x.shape[1:])), x.rms, axis=1)

    def pixel_shuffle(self, x, scale):
        shape = (x.shape[0], x.channels // scale**2, scale * x.size[0], scale * x.size[1])
        return self.node("DepthToSpace", [x], shape, x.rms, blocksize=scale, mode="CRD")

    # Parts that several networks share.

    def conv_silu(self, x, channels, kernel, stride=1, groups=1):
        """SiLU raises large values more than small ones; biases of some weight keep deep networks from running away."""
        return self.silu(self.conv(x, channels, kernel, stride, groups=groups, offset=0.8))

    def squeeze_excite(self, x, channels, activation, gate):
        """Scales each channel by a gate of two 1x1 convolutions of the channels' means.

        The gates stay near a half, else their product over many blocks leaves the range.
        """
        y = activation(self.conv(self.global_pool(x), channels, 1, bias="bias"))
        return self.multiply(x, gate(self.conv(y, x.channels, 1, bias="bias", gain=0.3)))

    def classifier(self, x, classes=1000):
        return self.linear(self.flatten(self.global_pool(x)), classes)

    def model(self):
        info = lambda pairs: [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in pairs]
        graph = helper.make_graph(self.nodes, self.name, info(self.inputs), info(self.outputs), self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="colonnade")
        model.ir_version = IR_VERSION
        return model
