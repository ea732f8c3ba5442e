# SPDX-License-Identifier: Apache-2.0
"""Casts, tests, and what makes tensors of shapes and numbers."""
import numpy as np
from onnx import TensorProto, helper

from case import MICROSOFT, bits, case, given, integers, known, made, x

_TYPES = {name: getattr(TensorProto, name.upper()) for name in
          ("float16", "bfloat16", "double", "int8", "uint8", "int32", "int64", "bool", "float8e4m3fn")}
_TYPES["float"] = TensorProto.FLOAT
_CASTS = (("float32", "int64"), ("float32", "int32"), ("float32", "uint8"), ("float32", "int8"), ("float32", "bool"),
          ("float32", "float16"), ("float32", "bfloat16"), ("float32", "double"), ("float32", "float8e4m3fn"),
          ("float16", "float"), ("float64", "float"), ("int64", "float"), ("int64", "int32"), ("int64", "bool"),
          ("int32", "float"), ("int32", "int64"), ("uint8", "float"), ("int8", "float"), ("bool", "float"),
          ("bool", "int64"), ("int64", "double"))


def _with_nan(*shape, dtype="float32"):
    def make(generator):
        numbers = generator.uniform(-1, 1, shape).astype(dtype)
        numbers[generator.random(shape) < 0.01] = np.nan
        numbers[generator.random(shape) < 0.01] = np.inf
        return numbers

    return made(make)


def _elements(dtype, *shape):
    return bits(*shape) if dtype == "bool" else x(*shape, low=0, high=100, dtype=dtype)


CASES = [case("Cast", f"1x64x56x56 {source} to {to}", _elements(source, 1, 64, 56, 56), to=_TYPES[to])
         for source, to in _CASTS]
CASES += [
    case("Cast", "1x128 int64 to float", integers(1, 128), to=TensorProto.FLOAT),
    case("CastLike", "1x128x768 float to int64", x(1, 128, 768), known(0)),
    case("CastLike", "1x128x768 int64 to float", integers(1, 128, 768), known(0, "float32")),
    case("BitCast", "1x128x768 float to int32", x(1, 128, 768), opset=26, to=TensorProto.INT32),
    case("IsNaN", "1x64x56x56", _with_nan(1, 64, 56, 56)),
    case("IsNaN", "1x128x768 float16", _with_nan(1, 128, 768, dtype="float16")),
    case("IsNaN", "1x128x768 float64", _with_nan(1, 128, 768, dtype="float64")),
    case("IsInf", "1x64x56x56", _with_nan(1, 64, 56, 56)),
    case("IsInf", "1x128x768 positive", _with_nan(1, 128, 768), detect_negative=0),
    case("IsInf", "1x128x768 float64", _with_nan(1, 128, 768, dtype="float64")),
    case("IsAllFinite", "1x128x768 twice", x(1, 128, 768), x(1, 128, 768), domain=MICROSOFT),
    case("Shape", "1x64x56x56", x(1, 64, 56, 56)),
    case("Size", "1x64x56x56", x(1, 64, 56, 56)),
    case("ConstantOfShape", "1x64x56x56", given([1, 64, 56, 56])),
    case("ConstantOfShape", "512x512 int64", given([512, 512]),
         value=helper.make_tensor("value", TensorProto.INT64, [1], [1])),
    case("Range", "0 to 8400 int64", given(0), given(8400), given(1)),
    case("Range", "0 to 1024 float", given(0, "float32"), given(1024, "float32"), given(1, "float32")),
    case("Range", "0 to 8400", given(0), given(8400), given(1), domain=MICROSOFT),
    case("EyeLike", "512x512", x(512, 512)),
    case("EyeLike", "197x197 int64", integers(197, 197)),
    case("HannWindow", "400", given(400)),
    case("HammingWindow", "400", given(400)),
    case("BlackmanWindow", "1024", given(1024)),
    case("MelWeightMatrix", "80 of 400", given(80), given(400), given(16000), given(0.0, "float32"),
         given(8000.0, "float32"), error=1e-3),
    case("Dropout", "1x128x768", x(1, 128, 768), known(0.1, "float32")),
    case("Dropout", "1x64x56x56 mask", x(1, 64, 56, 56), outputs=2),
]
