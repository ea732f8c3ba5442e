# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, comparisons and logic of two or more operands, with the broadcasts of exported networks."""
from case import MICROSOFT, bits, case, integers, known, w, x

_ARITHMETIC = ("Add", "Sub", "Mul", "Div")
_COMPARISONS = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
_MANY = ("Max", "Mean", "Min", "Sum")


def _arithmetic(name):
    yield case(name, "1x64x56x56", x(1, 64, 56, 56), x(1, 64, 56, 56, low=0.5, high=2))
    yield case(name, "1x64x56x56 by channel", x(1, 64, 56, 56), w(1, 64, 1, 1, low=0.5, high=2))
    yield case(name, "1x128x768 by column", x(1, 128, 768), x(768, low=0.5, high=2))
    yield case(name, "1x12x128x128 by row", x(1, 12, 128, 128), x(1, 1, 128, 1, low=0.5, high=2))
    yield case(name, "128x1 and 1x128", x(128, 1), x(1, 128, low=0.5, high=2))
    yield case(name, "1x128x768 scalar", x(1, 128, 768), known(2.5, "float32"))
    yield case(name, "1x128x768 float64", x(1, 128, 768, dtype="float64"), x(1, 128, 768, dtype="float64", low=0.5, high=2))
    yield case(name, "1x128x768 float16", x(1, 128, 768, dtype="float16"), x(1, 128, 768, dtype="float16", low=0.5, high=2))
    yield case(name, "1x128x768 int64", integers(1, 128, 768, low=-99, high=99), integers(1, 128, 768, low=1, high=9))
    yield case(name, "1x128x768 int32 scalar", integers(1, 128, 768, low=-99, high=99, dtype="int32"), known(3, "int32"))
    yield case(name, "1x64x56x56 uint8", integers(1, 64, 56, 56, high=99, dtype="uint8"),
               integers(1, 64, 56, 56, low=1, high=9, dtype="uint8"))


def _comparison(name):
    yield case(name, "1x64x56x56", x(1, 64, 56, 56), x(1, 64, 56, 56))
    yield case(name, "8400x80 scalar", x(8400, 80), known(0.25, "float32"))
    yield case(name, "1x1x128x1 and 1x1x1x128 int64", integers(1, 1, 128, 1), integers(1, 1, 1, 128))
    yield case(name, "1x128x768 float64", x(1, 128, 768, dtype="float64"), x(768, dtype="float64"))
    yield case(name, "1x128x768 int32", integers(1, 128, 768, dtype="int32"), integers(1, 128, 768, dtype="int32"))


def _many(name):
    yield case(name, "1x64x56x56 of 2", x(1, 64, 56, 56), x(1, 64, 56, 56))
    yield case(name, "1x128x768 of 3", x(1, 128, 768), x(768), x(1, 128, 1))
    if name in ("Max", "Min"):
        yield case(name, "1x128x768 scalar", x(1, 128, 768), known(0, "float32"))
        yield case(name, "1x128x768 int64", integers(1, 128, 768), integers(1, 128, 768))
    yield case(name, "1x128x768 float64", x(1, 128, 768, dtype="float64"), x(1, 128, 768, dtype="float64"))


def _logic(name):
    yield case(name, "1x1x512x512", bits(1, 1, 512, 512), bits(1, 1, 512, 512))
    yield case(name, "1x1x128x128 by row", bits(1, 1, 128, 128), bits(1, 1, 1, 128))


def _bitwise(name):
    for dtype in ("int32", "int64", "uint8"):
        yield case(name, f"1x128x768 {dtype}", integers(1, 128, 768, high=99, dtype=dtype),
                   integers(1, 128, 768, high=99, dtype=dtype))
    yield case(name, "1x128x768 int32 scalar", integers(1, 128, 768, high=99, dtype="int32"), known(15, "int32"))




CASES = [each for name in _ARITHMETIC for each in _arithmetic(name)]
CASES += [each for name in _COMPARISONS for each in _comparison(name)]
CASES += [each for name in _MANY for each in _many(name)]
CASES += [each for name in ("And", "Or", "Xor") for each in _logic(name)]
CASES += [each for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor") for each in _bitwise(name)]
CASES += [
    case("Not", "1x1x512x512", bits(1, 1, 512, 512)),
    case("Not", "1x128", bits(1, 128)),
    case("BitwiseNot", "1x128x768 int32", integers(1, 128, 768, dtype="int32")),
    case("BitwiseNot", "1x128x768 uint8", integers(1, 128, 768, dtype="uint8")),
    case("BitShift", "1x128x768 left uint32", integers(1, 128, 768, dtype="uint32"), known(3, "uint32"), direction="LEFT"),
    case("BitShift", "1x128x768 right uint64", integers(1, 128, 768, high=1 << 40, dtype="uint64"),
         integers(1, 128, 768, high=40, dtype="uint64"), direction="RIGHT"),
    case("BitShift", "1x64x56x56 right uint8", integers(1, 64, 56, 56, high=255, dtype="uint8"), known(4, "uint8"),
         direction="RIGHT"),
    case("Mod", "1x128x768 int64", integers(1, 128, 768, low=-99, high=99), integers(1, 128, 768, low=1, high=9)),
    case("Mod", "1x128x768 int64 scalar", integers(1, 128, 768, low=-99, high=99), known(7)),
    case("Mod", "1x128x768 int32 fmod", integers(1, 128, 768, low=-99, high=99, dtype="int32"),
         integers(1, 128, 768, low=1, high=9, dtype="int32"), fmod=1),
    case("Mod", "1x128x768 float32", x(1, 128, 768, low=-9, high=9), x(1, 128, 768, low=0.5, high=2), fmod=1),
    case("Pow", "1x64x56x56 square", x(1, 64, 56, 56), known(2.0, "float32")),
    case("Pow", "1x128x768 cube", x(1, 128, 768), known(3.0, "float32")),
    case("Pow", "1x128x768 half", x(1, 128, 768, low=0, high=2), known(0.5, "float32")),
    case("Pow", "1x128x768 any", x(1, 128, 768, low=0.1, high=2), known(1.7, "float32")),
    case("Pow", "1x128x768 computed", x(1, 128, 768, low=0.1, high=2), x(1, 128, 768)),
    case("Pow", "scalar to 1x128x768", known(2.0, "float32"), x(1, 128, 768)),
    case("Pow", "1x128x768 float64", x(1, 128, 768, low=0.1, high=2, dtype="float64"), known(1.7, "float64")),
    case("Pow", "1x128x768 int64", integers(1, 128, 768, low=-9, high=9), known(2)),
    case("PRelu", "1x64x56x56 by channel", x(1, 64, 56, 56), w(64, 1, 1)),
    case("PRelu", "1x16x6x14x14 3-D by channel", x(1, 16, 6, 14, 14), w(16, 1, 1, 1)),
    case("PRelu", "1x128x768 scalar", x(1, 128, 768), w(1)),
    case("Clip", "1x64x56x56", x(1, 64, 56, 56, low=-9, high=9), known(0, "float32"), known(6, "float32")),
    case("Clip", "1x128x768 least", x(1, 128, 768), known(0, "float32")),
    case("Clip", "1x128x768 int64", integers(1, 128, 768, high=99), known(5), known(50)),
    case("Clip", "1x64x56x56 int8", integers(1, 64, 56, 56, low=-99, high=99, dtype="int8"), known(0, "int8"),
         known(50, "int8")),
    case("Where", "1x12x128x128 mask", bits(1, 1, 128, 128), x(1, 12, 128, 128), known(-1e9, "float32")),
    case("Where", "1x64x56x56", bits(1, 64, 56, 56), x(1, 64, 56, 56), x(1, 64, 56, 56)),
    case("Where", "1x512x512 int64", bits(1, 512, 512), integers(1, 512, 512), known(-1)),
    case("Where", "1x128x768 float16", bits(1, 128, 1), x(1, 128, 768, dtype="float16"), x(768, dtype="float16")),
    case("Where", "1x128x768 float64", bits(1, 128, 768), x(1, 128, 768, dtype="float64"), x(1, 1, 1, dtype="float64")),
    case("SwiGLU", "1x128x3072", x(1, 128, 3072), x(1, 128, 3072), opset=28),
    case("BiasAdd", "1x4096x320", x(1, 4096, 320), x(320), x(1, 4096, 320), domain=MICROSOFT),
    case("BiasGelu", "1x128x3072", x(1, 128, 3072), x(3072), domain=MICROSOFT),
    case("BiasDropout", "1x128x768", x(1, 128, 768), x(768), x(1, 128, 768), domain=MICROSOFT),
    case("BiasSoftmax", "1x12x128x128", x(1, 12, 128, 128), x(1, 1, 1, 128), domain=MICROSOFT, axis=3,
         is_inner_broadcast=0),
    case("BiasSplitGelu", "1x1024x2560", x(1, 1024, 2560), x(2560), domain=MICROSOFT),
    case("GatedAdd", "1x128x768", x(1, 128, 768), x(1, 128, 768), x(1, 1, 768), domain=MICROSOFT),
    case("ComplexMul", "8x128x64x2", x(8, 128, 64, 2), x(8, 128, 64, 2), domain=MICROSOFT),
    case("ComplexMulConj", "8x128x64x2", x(8, 128, 64, 2), x(8, 128, 64, 2), domain=MICROSOFT),
    case("MulInteger", "1x128x768", integers(1, 128, 768, high=255, dtype="uint8"), known(128, "uint8"),
         integers(1, 128, 768, high=255, dtype="uint8"), known(128, "uint8"), domain=MICROSOFT),
]
