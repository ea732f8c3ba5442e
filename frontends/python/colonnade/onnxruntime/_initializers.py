# SPDX-License-Identifier: Apache-2.0
"""A model with other initializers: its bytes, with some tensors put in place of those of the file."""
from __future__ import annotations

import os
from collections.abc import Mapping

import numpy

from . import _types
from ._errors import Fail, InvalidArgument
from ._onnx_file import Message, opened, whole

_GRAPH, _INITIALIZER = 7, 5
_DIMS, _DATA_TYPE, _STRING_DATA, _NAME, _RAW_DATA, _EXTERNAL_DATA = 1, 2, 6, 8, 9, 13


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _tensor(name: str, data_type: int, dims: list[int], data: bytes) -> bytes:
    sizes = b"".join(_number(_DIMS, size) for size in dims)
    return sizes + _number(_DATA_TYPE, data_type) + _bytes(_NAME, name.encode()) + data


def _tensor_of(name: str, array: numpy.ndarray) -> bytes:
    data_type = _types.NUMBERS[_types.name_of(array)]
    if data_type == _types.NUMBERS["string"]:
        data = b"".join(_bytes(_STRING_DATA, str(text).encode()) for text in array.flat)
    else:
        data = _bytes(_RAW_DATA, numpy.ascontiguousarray(array).tobytes())
    return _tensor(name, data_type, list(array.shape), data)


class _Tensor:
    """What is known of an initializer of the file without its elements."""

    def __init__(self, message: Message) -> None:
        self.name, self.data_type = "", 0
        self.dims: list[int] = []
        self.external: dict[str, str] = {}
        for field, value in message.fields():
            if field == _DIMS:
                self.dims += [value] if isinstance(value, int) else _packed(value.content())
            elif field == _DATA_TYPE and isinstance(value, int):
                self.data_type = value
            elif field == _NAME and isinstance(value, Message):
                self.name = value.text()
            elif field == _EXTERNAL_DATA and isinstance(value, Message):
                key, text = value.entry()
                self.external[key] = text

    def read(self, folder: str, files: Mapping[str, bytes]) -> bytes:
        """The elements that lie in another file."""
        location, offset = self.external.get("location", ""), int(self.external.get("offset", "0"))
        length = int(self.external["length"]) if "length" in self.external else None
        if location in files:
            data = files[location][offset:] if length is None else files[location][offset : offset + length]
        else:
            top = os.path.realpath(folder)
            path = os.path.realpath(os.path.join(top, location))
            if os.path.isabs(location) or os.path.commonpath([top, path]) != top:
                raise Fail(f"initializer '{self.name}': its file '{location}' lies outside of the model's folder")
            try:
                with open(path, "rb") as file:
                    file.seek(offset)
                    data = file.read() if length is None else file.read(length)
            except OSError as error:
                raise Fail(f"initializer '{self.name}': {error}") from None
        if length is not None and len(data) != length:
            raise Fail(f"initializer '{self.name}': expected {length} bytes in '{location}', found {len(data)}")
        return data


def _packed(data: bytes) -> list[int]:
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    return values


class Changes:
    """What of a model's initializers is to be another: arrays by name, names that become inputs, and where the
    elements of those lie that are outside of the model."""

    def __init__(self) -> None:
        self.arrays: dict[str, numpy.ndarray] = {}
        self.external: dict[str, numpy.ndarray] = {}
        self.files: dict[str, bytes] = {}
        self.removed: frozenset[str] = frozenset()
        self.folder = ""

    def __bool__(self) -> bool:
        return bool(self.arrays or self.external or self.files or self.removed or self.folder)

    def _part(self, message: Message, whole_part: Message, seen: set[str]) -> bytes:
        tensor = _Tensor(message)
        name = tensor.name
        if name in self.removed:
            return b""
        if name in self.external and not tensor.external:
            raise InvalidArgument(f"initializer '{name}': its elements lie in the model, which is none of external data")
        array = self.arrays.get(name, self.external.get(name))
        if array is not None:
            seen.add(name)
            found, expected = (_types.name_of(array), list(array.shape)), (_types.name_of_number(tensor.data_type), tensor.dims)
            if found != expected:
                kind = Fail if name in self.external else InvalidArgument
                raise kind(f"initializer '{name}': expected {expected[0]} {expected[1]}, found {found[0]} {found[1]}")
            return _bytes(_INITIALIZER, _tensor_of(name, array))
        if not tensor.external:
            return whole_part.content()
        data = _bytes(_RAW_DATA, tensor.read(self.folder, self.files))
        return _bytes(_INITIALIZER, _tensor(name, tensor.data_type, tensor.dims, data))

    def applied(self, source: str | bytes) -> bytes:
        """The bytes of the model with these changes and all elements within. Names in `arrays` that it has not are
        without effect, as in ONNX Runtime."""
        parts: list[bytes] = []
        seen: set[str] = set()
        if isinstance(source, str) and not self.folder:
            self.folder = os.path.dirname(source) or "."
        with opened(source) as file:
            for field, value, whole_part in whole(file).parts():
                if field != _GRAPH or not isinstance(value, Message):
                    parts.append(whole_part.content())
                    continue
                graph = [
                    self._part(inner, part, seen) if number == _INITIALIZER and isinstance(inner, Message) else part.content()
                    for number, inner, part in value.parts()
                ]
                parts.append(_bytes(_GRAPH, b"".join(graph)))
        missing = self.external.keys() - seen
        if missing:
            raise InvalidArgument(f"external initializers that the model has not: {', '.join(sorted(missing))}")
        return b"".join(parts)
