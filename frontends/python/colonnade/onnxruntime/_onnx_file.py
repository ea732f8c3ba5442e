# SPDX-License-Identifier: Apache-2.0
"""What the engine does not keep of a model file: its metadata and the names of open dimensions. Fields are read where
they lie; weights are skipped."""
from __future__ import annotations

import dataclasses
import io
import os
from collections.abc import Iterator
from typing import BinaryIO

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_TEXT = 1 << 24


class Malformed(ValueError):
    """No protobuf message."""


@dataclasses.dataclass
class Dimension:
    symbol: str = ""
    denotation: str = ""


@dataclasses.dataclass
class ModelFile:
    producer_name: str = ""
    domain: str = ""
    version: int = 9223372036854775807
    description: str = ""
    graph_name: str = ""
    graph_description: str = ""
    has_graph: bool = False
    metadata: dict[str, str] = dataclasses.field(default_factory=dict)
    dimensions: list[Dimension] = dataclasses.field(default_factory=list)


class _Message:
    """A range of a file that holds a message."""

    def __init__(self, file: BinaryIO, begin: int, end: int) -> None:
        self.file, self.begin, self.end = file, begin, end

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.file.read(1)
            if not byte:
                break
            value |= (byte[0] & 0x7F) << shift
            if byte[0] < 0x80:
                return value & (1 << 64) - 1
        raise Malformed("a number does not end")

    def fields(self) -> Iterator[tuple[int, int | _Message]]:
        """Numbers of fields with their values."""
        at = self.begin
        while at < self.end:
            self.file.seek(at)
            key = self._varint()
            field, kind = key >> 3, key & 7
            if kind == _VARINT:
                value: int | _Message = self._varint()
                at = self.file.tell()
            elif kind in (_FIXED64, _FIXED32):
                value = 0
                at = self.file.tell() + (8 if kind == _FIXED64 else 4)
            elif kind == _BYTES:
                size = self._varint()
                value = _Message(self.file, self.file.tell(), self.file.tell() + size)
                at = value.end
            else:
                raise Malformed(f"field {field} is of no known kind")
            if field == 0 or at > self.end:
                raise Malformed(f"field {field} goes beyond the end")
            yield field, value

    def text(self) -> str:
        self.file.seek(self.begin)
        return self.file.read(min(self.end - self.begin, _LONGEST_TEXT)).decode("utf-8", "replace")

    def inner(self, wanted: int) -> Iterator[_Message]:
        return (value for field, value in self.fields() if field == wanted and isinstance(value, _Message))


def _read_dimensions(value_info: _Message) -> Iterator[Dimension]:
    for type_ in value_info.inner(2):
        for tensor in type_.inner(1):
            for shape in tensor.inner(2):
                for dimension in shape.inner(1):
                    parts = {field: value.text() for field, value in dimension.fields() if isinstance(value, _Message)}
                    yield Dimension(parts.get(2, ""), parts.get(3, ""))


def _read_graph(graph: _Message, model: ModelFile) -> None:
    model.has_graph = True
    for field, value in graph.fields():
        if not isinstance(value, _Message):
            continue
        if field == 2:
            model.graph_name = value.text()
        elif field == 10:
            model.graph_description = value.text()
        elif field == 11:
            model.dimensions += _read_dimensions(value)


def read(source: str | bytes) -> ModelFile:
    """Of a path or of bytes. Raises Malformed or OSError."""
    with open(source, "rb") if isinstance(source, str) else io.BytesIO(source) as file:
        end = file.seek(0, os.SEEK_END)
        model = ModelFile()
        for field, value in _Message(file, 0, end).fields():
            if isinstance(value, int):
                if field == 5:
                    model.version = value - (1 << 64) if value >> 63 else value
            elif field == 2:
                model.producer_name = value.text()
            elif field == 4:
                model.domain = value.text()
            elif field == 6:
                model.description = value.text()
            elif field == 7:
                _read_graph(value, model)
            elif field == 14:
                entry = {number: text.text() for number, text in value.fields() if isinstance(text, _Message)}
                model.metadata[entry.get(1, "")] = entry.get(2, "")
        return model
