# SPDX-License-Identifier: Apache-2.0
"""Names of types as ONNX Runtime writes them."""
from __future__ import annotations

from typing import Any

import numpy

from .. import _engine

# Number of the type in ONNX's TensorProto, by the library's name; the name in "tensor(...)" where it is another.
NUMBERS = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "string": 8,
    "bool": 9,
    "float16": 10,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
    "complex64": 14,
    "complex128": 15,
    "bfloat16": 16,
    "float8e4m3fn": 17,
    "float8e4m3fnuz": 18,
    "float8e5m2": 19,
    "float8e5m2fnuz": 20,
    "uint4": 21,
    "int4": 22,
    "float4e2m1": 23,
    "float8e8m0": 24,
    "uint2": 25,
    "int2": 26,
}
_NAMES = {number: name for name, number in NUMBERS.items()}
_WRITTEN = {"float32": "float", "float64": "double"}


def tensor_type(name: str) -> str:
    return f"tensor({_WRITTEN.get(name, name)})"


def type_text(info: _engine.TensorInfo) -> str:
    """ "tensor(float)", "seq(map(int64,tensor(float)))"."""
    text = tensor_type(info.dtype)
    for container in reversed(info.containers):
        if container == "sequence":
            text = f"seq({text})"
        elif container == "optional":
            text = f"optional({text})"
        else:
            text = f"map({'string' if container == 'map_of_string' else 'int64'},{text})"
    return text


def name_of(array: numpy.ndarray) -> str:
    """The library's name of an array's element type."""
    if array.dtype.kind in "OUST":
        return "string"
    return _engine.type_name(array.dtype.name)


def name_of_number(number: int) -> str:
    try:
        return _NAMES[number]
    except KeyError:
        raise RuntimeError(f"tensor type {number} is not supported") from None


def checked(dtype: numpy.dtype[Any]) -> numpy.dtype[Any]:
    """Raises RuntimeError for complex numbers, of which ONNX Runtime has no tensors."""
    if dtype.kind == "c":
        raise RuntimeError(f"tensors of {dtype} are not supported")
    return dtype


def dtype_of(element_type: Any) -> numpy.dtype[Any]:
    """numpy's, of a numpy type or a number of ONNX's."""
    if isinstance(element_type, int):
        return checked(_engine.numpy_dtype(name_of_number(element_type)))
    return checked(numpy.dtype(element_type))
