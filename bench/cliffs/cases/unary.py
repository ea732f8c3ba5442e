# SPDX-License-Identifier: Apache-2.0
"""Functions of one number: feature maps of 64x56x56, activations of 128x768, and small ones."""
from case import MICROSOFT, case, x

_PLAIN = ("Abs", "Asinh", "Atan", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "HardSigmoid",
          "HardSwish", "Identity", "LeakyRelu", "Mish", "Neg", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin",
          "Sinh", "Softplus", "Softsign", "Tan", "Tanh", "ThresholdedRelu")
# Those whose arguments are limited, by their range.
_LIMITED = {"Acos": (-1, 1), "Acosh": (1, 9), "Asin": (-1, 1), "Atanh": (-0.95, 0.95), "Log": (0.01, 4),
            "Reciprocal": (0.1, 4), "Sqrt": (0, 4)}
_DOUBLE = ("Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "Identity", "Log", "Neg", "Reciprocal", "Relu", "Round", "Sigmoid",
           "Sign", "Sin", "Sqrt", "Tanh")
_HALF = ("Abs", "Ceil", "Exp", "Floor", "Identity", "LeakyRelu", "Neg", "Relu", "Sigmoid", "Sign", "Sqrt", "Tanh")
_INTEGER = ("Abs", "Neg", "Relu", "Sign")
_ATTRIBUTES = {"Shrink": {"lambd": 0.5, "bias": 0.5}}


def _range(name):
    return _LIMITED.get(name, (-4, 4))


def _cases(name):
    low, high = _range(name)
    attributes = _ATTRIBUTES.get(name, {})
    opset = 22 if name in ("Mish", "HardSwish") else 21
    yield case(name, "1x64x56x56", x(1, 64, 56, 56, low=low, high=high), opset=opset, **attributes)
    yield case(name, "1x128x768", x(1, 128, 768, low=low, high=high), opset=opset, **attributes)
    yield case(name, "1x1000", x(1, 1000, low=low, high=high), opset=opset, **attributes)
    for names, dtype in ((_DOUBLE, "float64"), (_HALF, "float16")):
        if name in names:
            yield case(name, f"1x128x768 {dtype}", x(1, 128, 768, low=low, high=high, dtype=dtype), opset=opset, **attributes)
    if name in _INTEGER:
        for dtype in ("int32", "int64", "int8"):
            yield case(name, f"1x128x768 {dtype}", x(1, 128, 768, low=-9, high=9, dtype=dtype), opset=opset)


CASES = [each for name in (*_PLAIN, *_LIMITED) for each in _cases(name)]
CASES += [
    case("Gelu", "1x128x3072 erf", x(1, 128, 3072), opset=20),
    case("Gelu", "1x197x3072 tanh", x(1, 197, 3072), opset=20, approximate="tanh"),
    case("Swish", "1x64x56x56", x(1, 64, 56, 56), opset=24),
    case("Swish", "1x128x3072", x(1, 128, 3072), opset=24),
    case("Softmax", "1x12x128x128", x(1, 12, 128, 128)),
    case("Softmax", "1x1000", x(1, 1000)),
    case("Softmax", "1x21x65x65 channels", x(1, 21, 65, 65), axis=1),
    case("Softmax", "1x12x197x197 float16", x(1, 12, 197, 197, dtype="float16")),
    case("Softmax", "8x1000 float64", x(8, 1000, dtype="float64")),
    case("Softmax", "1x4x8400x16 middle", x(1, 16, 4, 8400), axis=1),
    case("Softmax", "1x64x14x14 old, all axes", x(1, 64, 14, 14), axis=1, opset=11),
    case("LogSoftmax", "1x128x5000", x(1, 128, 5000)),
    case("LogSoftmax", "64x1000", x(64, 1000)),
    case("LogSoftmax", "1x19x64x128 channels", x(1, 19, 64, 128), axis=1),
    case("Hardmax", "1x12x128x128", x(1, 12, 128, 128)),
    case("Hardmax", "1x21x65x65 channels", x(1, 21, 65, 65), axis=1),
    case("FastGelu", "1x128x3072", x(1, 128, 3072), domain=MICROSOFT),
    case("FastGelu", "1x128x3072 bias", x(1, 128, 3072), x(3072), domain=MICROSOFT),
    case("Gelu", "1x128x3072", x(1, 128, 3072), domain=MICROSOFT),
    case("QuickGelu", "1x77x2048", x(1, 77, 2048), domain=MICROSOFT, alpha=1.702),
    case("ScaledSiLU", "1x128x3072", x(1, 128, 3072), domain=MICROSOFT),
]
