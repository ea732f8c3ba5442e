# SPDX-License-Identifier: Apache-2.0
"""Classifiers of depthwise and grouped convolutions."""
from .net import make_divisible
from .registry import network

# MobileNetV2 (Sandler et al., 2018, table 2): expansion, channels, repeats, stride.
MOBILENET_V2 = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                (6, 320, 1, 1)]

# MobileNetV3-Large (Howard et al., 2019, table 1): kernel, expanded channels, channels, squeeze, hard swish, stride.
MOBILENET_V3_LARGE = [
    (3, 16, 16, False, False, 1), (3, 64, 24, False, False, 2), (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2), (5, 120, 40, True, False, 1), (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2), (3, 200, 80, False, True, 1), (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1), (3, 480, 112, True, True, 1), (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2), (5, 960, 160, True, True, 1), (5, 960, 160, True, True, 1)]

# EfficientNet-B0 (Tan and Le, 2019, table 1): expansion, kernel, stride, channels, repeats.
EFFICIENTNET_B0 = [(1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3),
                   (6, 5, 2, 192, 4), (6, 3, 1, 320, 1)]

# RegNetY-800MF (Radosavovic et al., 2020): depth and width of each stage; groups of 16 channels.
REGNET_Y_800MF = [(1, 64), (3, 144), (8, 320), (2, 784)]


def inverted_residual(net, x, expansion, channels, stride, dilation=1):
    y = x if expansion == 1 else net.relu6(net.conv(x, expansion * x.channels, 1))
    y = net.relu6(net.depthwise(y, 3, stride, dilation))
    y = net.conv(y, channels, 1)
    return net.add(x, y) if stride == 1 and channels == x.channels else y


def mobilenet_v2_features(net, x, output_stride=32):
    """Up to the 320 channels; where the stride would exceed the wanted one, dilation takes its place."""
    x, reached, dilation = net.relu6(net.conv(x, 32, 3, 2)), 2, 1
    for expansion, channels, repeats, stride in MOBILENET_V2:
        dilation_of_first = dilation
        if reached * stride > output_stride:
            stride, dilation = 1, dilation * stride
        reached *= stride
        x = inverted_residual(net, x, expansion, channels, stride, dilation_of_first)
        for _ in range(repeats - 1):
            x = inverted_residual(net, x, expansion, channels, 1, dilation)
    return x


@network(224, 224)
def mobilenet_v2(net, image):
    return net.classifier(net.relu6(net.conv(mobilenet_v2_features(net, image), 1280, 1)))


@network(720, 1280)
def mobilenet_v2_720p(net, image):
    """Features only."""
    return net.relu6(net.conv(mobilenet_v2_features(net, image), 1280, 1))


@network(224, 224)
def mobilenet_v3_large(net, image):
    x = net.hard_swish(net.conv(image, 16, 3, 2))
    for kernel, expanded, channels, squeeze, swish, stride in MOBILENET_V3_LARGE:
        activation = net.hard_swish if swish else net.relu
        y = x if expanded == x.channels else activation(net.conv(x, expanded, 1))
        y = activation(net.depthwise(y, kernel, stride))
        if squeeze:
            y = net.squeeze_excite(y, make_divisible(expanded // 4), net.relu, net.hard_sigmoid)
        y = net.conv(y, channels, 1)
        x = net.add(x, y) if stride == 1 and channels == x.channels else y
    x = net.hard_swish(net.conv(x, 960, 1))
    x = net.hard_swish(net.linear(net.flatten(net.global_pool(x)), 1280))
    return net.linear(x, 1000)


@network(224, 224)
def efficientnet_b0(net, image):
    x = net.conv_silu(image, 32, 3, 2)
    for expansion, kernel, first_stride, channels, repeats in EFFICIENTNET_B0:
        for i in range(repeats):
            stride = first_stride if i == 0 else 1
            y = x if expansion == 1 else net.conv_silu(x, expansion * x.channels, 1)
            y = net.conv_silu(y, y.channels, kernel, stride, groups=y.channels)
            y = net.squeeze_excite(y, x.channels // 4, net.silu, net.sigmoid)
            y = net.conv(y, channels, 1)
            x = net.add(x, y) if stride == 1 and channels == x.channels else y
    return net.classifier(net.conv_silu(x, 1280, 1))


@network(224, 224)
def regnet_y_800mf(net, image):
    x = net.relu(net.conv(image, 32, 3, 2))
    for depth, width in REGNET_Y_800MF:
        for i in range(depth):
            stride = 2 if i == 0 else 1
            y = net.relu(net.conv(x, width, 1))
            y = net.relu(net.conv(y, width, 3, stride, groups=width // 16))
            y = net.squeeze_excite(y, round(x.channels / 4), net.relu, net.sigmoid)
            y = net.conv(y, width, 1)
            x = net.add_relu(net.conv(x, width, 1, stride) if i == 0 else x, y)
    return net.classifier(x)


def shuffle(net, x):
    """Interleaves the channels' halves."""
    batch, channels, height, width = x.shape
    x = net.reshape(x, (batch, 2, channels // 2, height, width))
    return net.reshape(net.transpose(x, (0, 2, 1, 3, 4)), (batch, channels, height, width))


@network(224, 224)
def shufflenet_v2(net, image):
    """ShuffleNetV2 x1.0 (Ma et al., 2018, table 5)."""
    x = net.max_pool(net.relu(net.conv(image, 24, 3, 2)), 3, 2, 1)
    for repeats, channels in [(4, 116), (8, 232), (4, 464)]:
        for i in range(repeats):
            half, stride = channels // 2, 2 if i == 0 else 1
            kept, worked = (x, x) if i == 0 else net.halves(x)
            if i == 0:
                kept = net.relu(net.conv(net.depthwise(kept, 3, 2), half, 1))
            worked = net.relu(net.conv(worked, half, 1))
            worked = net.relu(net.conv(net.depthwise(worked, 3, stride), half, 1))
            x = shuffle(net, net.concat([kept, worked]))
    x = net.relu(net.conv(x, 1024, 1))
    x = net.node("ReduceMean", [x], x.shape[:2], 0.75 * x.rms, axes=[2, 3], keepdims=0)
    return net.linear(x, 1000)


def layer_norm_channels(net, x):
    return net.transpose(net.layer_norm(net.transpose(x, (0, 2, 3, 1))), (0, 3, 1, 2))


@network(224, 224)
def convnext_tiny(net, image):
    """ConvNeXt-T (Liu et al., 2022): 3, 3, 9, 3 blocks of 96, 192, 384, 768 channels."""
    x = layer_norm_channels(net, net.conv(image, 96, 4, 4, pad=0, bias="bias"))
    for depth, channels in [(3, 96), (3, 192), (9, 384), (3, 768)]:
        if channels != x.channels:
            x = net.conv(layer_norm_channels(net, x), channels, 2, 2, pad=0, bias="bias")
        for _ in range(depth):
            y = net.layer_norm(net.transpose(net.depthwise(x, 7, bias="bias"), (0, 2, 3, 1)))
            y = net.linear_last(net.gelu(net.linear_last(y, 4 * channels)), channels)
            y = net.transpose(y, (0, 3, 1, 2))
            scale = net.parameter("weight", [channels, 1, 1], 0.2, 0.6)
            x = net.add(net.node("Mul", [scale, y], y.shape, 0.4), x)
    x = layer_norm_channels(net, net.global_pool(x))
    return net.linear(net.flatten(x), 1000)
