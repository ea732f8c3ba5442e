# SPDX-License-Identifier: Apache-2.0
"""Reductions over the axes that exported networks reduce."""
from case import MICROSOFT, bits, case, integers, known, x

_NAMES = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
          "ReduceSum", "ReduceSumSquare")


def _cases(name):
    error = 1e-3 if name in ("ReduceProd", "ReduceLogSum") else 0.0
    low, high = (0.98, 1.02) if name == "ReduceProd" else (0.1, 1)
    yield case(name, "1x128x768 last", x(1, 128, 768, low=low, high=high), known([2]), error=error)
    yield case(name, "1x64x56x56 spatial", x(1, 64, 56, 56, low=low, high=high), known([2, 3]), keepdims=0, error=error)
    yield case(name, "1x64x56x56 channels", x(1, 64, 56, 56, low=low, high=high), known([1]), error=error)
    yield case(name, "1x197x768 middle", x(1, 197, 768, low=low, high=high), known([1]), keepdims=0, error=error)
    yield case(name, "256x256 all", x(256, 256, low=low, high=high), error=error)
    yield case(name, "1x128x768 float64", x(1, 128, 768, low=low, high=high, dtype="float64"), known([2]), error=error)
    if name in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd", "ReduceMean"):
        for dtype in ("int32", "int64"):
            yield case(name, f"1x128x768 {dtype}", integers(1, 128, 768, high=3, dtype=dtype), known([2]))
    if name in ("ReduceMax", "ReduceMin"):
        yield case(name, "8x64x56x56 uint8", integers(8, 64, 56, 56, dtype="uint8"), known([1]))


CASES = [each for name in _NAMES for each in _cases(name)]
CASES += [
    case("ReduceMax", "8400x80 bool", bits(8400, 80), known([1]), opset=20),
    case("ReduceSum", "1x64x56x56 old", x(1, 64, 56, 56), opset=11, axes=[2, 3]),
    case("ReduceSumInteger", "128x768", integers(128, 768, dtype="int8"), domain=MICROSOFT, axes=[1], keepdims=0),
]
