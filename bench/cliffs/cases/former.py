# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX's first years, which old files still have."""
from case import case, given, known, x

CASES = [
    case("Affine", "1x64x56x56", x(1, 64, 56, 56), opset=1, alpha=2.0, beta=1.0),
    case("Crop", "1x3x256x256", x(1, 3, 256, 256), opset=1, border=[16, 16, 16, 16]),
    case("DynamicSlice", "1x64x56x56", x(1, 64, 56, 56), given([1, 1]), given([55, 55]), given([2, 3]), opset=1),
    case("GRUUnit", "1x8x128", x(1, 8, 128), x(1, 8, 384), known([8] * 8, "int32"), known([3], "int32"), opset=1),
    case("GivenTensorFill", "2x2", opset=1, shape=[2, 2], values=[1.0, 2.0, 3.0, 4.0]),
    case("ImageScaler", "1x3x224x224", x(1, 3, 224, 224), opset=1, scale=0.5, bias=[0.1, 0.2, 0.3]),
    case("ParametricSoftplus", "1x128x768", x(1, 128, 768), opset=1, alpha=1.5, beta=0.5),
    case("Scale", "1x64x56x56", x(1, 64, 56, 56), opset=1, scale=2.0),
    case("ScaledTanh", "1x128x768", x(1, 128, 768), opset=1, alpha=1.5, beta=0.5),
]
