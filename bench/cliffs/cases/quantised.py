# SPDX-License-Identifier: Apache-2.0
"""Quantised operators, standing alone as at the borders of a network, and in the form QOperator."""
from dataclasses import replace

import numpy as np
from onnx import TensorProto

from case import MICROSOFT, bits, case, integers, known, made, w, x

_STEP = 0.01  # one more or less in 255 is no wrong answer


def _bytes(*shape, dtype="uint8", constant=False):
    low, high = (0, 255) if dtype == "uint8" else (-127, 127)
    return integers(*shape, low=low, high=high, dtype=dtype, constant=constant)


def _by(scale, zero=128, dtype="uint8"):
    return known(scale, "float32"), known(zero, dtype)


def _scales(count):
    return w(count, low=0.01, high=0.02)


def _zeros(count, dtype="int8"):
    return known([0] * count, dtype)


CASES = [
    case("QuantizeLinear", "1x64x56x56 uint8", x(1, 64, 56, 56), *_by(0.01), error=_STEP),
    case("QuantizeLinear", "1x128x768 int8", x(1, 128, 768), *_by(0.01, 0, "int8"), error=_STEP),
    case("QuantizeLinear", "1x64x56x56 by channel", x(1, 64, 56, 56), _scales(64), _zeros(64), axis=1, error=_STEP),
    case("QuantizeLinear", "1x128x768 int16", x(1, 128, 768), *_by(0.0001, 0, "int16"), error=_STEP),
    case("QuantizeLinear", "1x128x768 float8", x(1, 128, 768), known(0.01, "float32"),
         output_dtype=TensorProto.FLOAT8E4M3FN, error=0.1),
    case("DequantizeLinear", "1x64x56x56 uint8", _bytes(1, 64, 56, 56), *_by(0.01)),
    case("DequantizeLinear", "1x128x768 int8", _bytes(1, 128, 768, dtype="int8"), *_by(0.01, 0, "int8")),
    case("DequantizeLinear", "1x64x56x56 by channel", _bytes(1, 64, 56, 56, dtype="int8"), _scales(64), _zeros(64), axis=1),
    case("DequantizeLinear", "1x128x768 int32", integers(1, 128, 768, dtype="int32"), known(0.01, "float32")),
    case("DequantizeLinear", "768x768 blocks of 32", _bytes(768, 768, dtype="int8"), x(24, 768, low=0.01, high=0.02),
         axis=0, block_size=32),
    case("DynamicQuantizeLinear", "1x128x768", x(1, 128, 768), outputs=3, error=_STEP),
    case("DynamicQuantizeLinear", "1x64x56x56", x(1, 64, 56, 56), outputs=3, error=_STEP),
    case("QLinearConv", "1x64x56x56 3x3", _bytes(1, 64, 56, 56), *_by(0.02), _bytes(64, 64, 3, 3, dtype="int8", constant=True),
         *_by(0.01, 0, "int8"), *_by(0.2), known([7] * 64, "int32"), pads=[1, 1, 1, 1], error=_STEP),
    case("QLinearConv", "1x144x56x56 depthwise", _bytes(1, 144, 56, 56), *_by(0.02),
         _bytes(144, 1, 3, 3, dtype="int8", constant=True), _scales(144), _zeros(144), *_by(0.2), pads=[1, 1, 1, 1],
         group=144, error=_STEP),
    case("QLinearConv", "1x256x14x14 1x1", _bytes(1, 256, 14, 14), *_by(0.02),
         _bytes(512, 256, 1, 1, dtype="int8", constant=True), _scales(512), _zeros(512), *_by(0.2), error=_STEP),
    case("QuantizeLinear", "1x128x768", x(1, 128, 768), *_by(0.01), domain=MICROSOFT, error=_STEP),
    case("DequantizeLinear", "1x128x768", _bytes(1, 128, 768), *_by(0.01), domain=MICROSOFT),
    case("QLinearAdd", "1x64x56x56", _bytes(1, 64, 56, 56), *_by(0.02), _bytes(1, 64, 56, 56), *_by(0.03), *_by(0.04),
         domain=MICROSOFT, error=_STEP),
    case("QLinearMul", "1x64x56x56", _bytes(1, 64, 56, 56), *_by(0.02), _bytes(1, 64, 1, 1), *_by(0.03), *_by(0.04),
         domain=MICROSOFT, error=_STEP),
    case("QLinearAveragePool", "1x64x56x56", _bytes(1, 64, 56, 56), *_by(0.02), *_by(0.02), domain=MICROSOFT,
         kernel_shape=[2, 2], strides=[2, 2], error=_STEP),
    case("QLinearGlobalAveragePool", "1x512x7x7", _bytes(1, 512, 7, 7), *_by(0.02), *_by(0.02), domain=MICROSOFT, error=_STEP),
    case("QLinearConcat", "two of 1x64x56x56", *_by(0.03), _bytes(1, 64, 56, 56), *_by(0.02), _bytes(1, 64, 56, 56),
         *_by(0.03), domain=MICROSOFT, axis=1, error=_STEP),
    case("QLinearConv", "1x56x56x64 channels last", _bytes(1, 56, 56, 64), *_by(0.02),
         _bytes(64, 64, 3, 3, dtype="int8", constant=True), *_by(0.01, 0, "int8"), *_by(0.2), domain=MICROSOFT,
         pads=[1, 1, 1, 1], channels_last=1, error=_STEP),
    case("QLinearLeakyRelu", "1x64x56x56", _bytes(1, 64, 56, 56), *_by(0.02), *_by(0.02), domain=MICROSOFT, alpha=0.1,
         error=_STEP),
    case("QLinearReduceMean", "1x64x56x56", _bytes(1, 64, 56, 56), *_by(0.02), *_by(0.02), domain=MICROSOFT, axes=[2, 3],
         keepdims=1, error=_STEP),
    case("QLinearSigmoid", "1x64x56x56", _bytes(1, 64, 56, 56), *_by(0.02), *_by(1 / 256, 0), domain=MICROSOFT, error=_STEP),
    # The attribute has the name of what the node is read by.
    replace(case("QLinearSoftmax", "1x12x128x128", _bytes(1, 12, 128, 128), *_by(0.05), *_by(1 / 256, 0), domain=MICROSOFT,
                 error=_STEP), attributes={"opset": 13}),
    case("QLinearWhere", "1x64x56x56", bits(1, 64, 56, 56), _bytes(1, 64, 56, 56), *_by(0.02), _bytes(1, 64, 56, 56),
         *_by(0.03), *_by(0.04), domain=MICROSOFT, error=_STEP),
    case("QGemm", "128x768 by 768", _bytes(128, 768), *_by(0.02), _bytes(768, 768, dtype="int8", constant=True),
         *_by(0.01, 0, "int8"), known([7] * 768, "int32"), *_by(0.2), domain=MICROSOFT, error=_STEP),
    case("GatherBlockQuantized", "1000x256 of 128", made(lambda generator: generator.integers(0, 255, (1000, 128)).astype(
        np.uint8), constant=True), integers(1, 128, high=1000), w(1000, 8), domain=MICROSOFT, block_size=32, quantize_axis=1,
         gather_axis=0, bits=4),
]
