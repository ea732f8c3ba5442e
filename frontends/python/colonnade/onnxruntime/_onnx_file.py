# SPDX-License-Identifier: Apache-2.0
"""What the engine does not keep of a model file: names of open dimensions and which initializers are inputs too. Fields
are read where they lie; weights are skipped."""
from __future__ import annotations

import dataclasses
import io
import os
from collections.abc import Iterator
from typing import BinaryIO

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_TEXT = 1 << 24
_OLDEST_OVERRIDABLE = 4  # versions of the format before list all initializers as inputs


class Malformed(ValueError):
    """No protobuf message."""


class NoPath(ValueError):
    """A name that no file can have."""


@dataclasses.dataclass
class Dimension:
    symbol: str = ""
    denotation: str = ""
    size: int = -1


@dataclasses.dataclass
class Value:
    """An input of the graph that is a tensor, or whose type is left out."""

    name: str = ""
    element_type: int = 0
    dimensions: list[Dimension] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class ModelFile:
    ir_version: int = 0
    producer_name: str = ""
    domain: str = ""
    version: int = 9223372036854775807
    description: str = ""
    graph_name: str = ""
    graph_description: str = ""
    has_graph: bool = False
    metadata: dict[str, str] = dataclasses.field(default_factory=dict)
    inputs: list[Value] = dataclasses.field(default_factory=list)
    initializers: set[str] = dataclasses.field(default_factory=set)

    def overridable(self) -> list[Value]:
        """Inputs with a default, which runs may leave out."""
        if self.ir_version < _OLDEST_OVERRIDABLE:
            return []
        return [value for value in self.inputs if value.name in self.initializers]


class Message:
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

    def parts(self) -> Iterator[tuple[int, int | Message, Message]]:
        """Numbers of fields with their values and the ranges of both."""
        at = self.begin
        while at < self.end:
            begin = at
            self.file.seek(at)
            key = self._varint()
            field, kind = key >> 3, key & 7
            if kind == _VARINT:
                value: int | Message = self._varint()
                at = self.file.tell()
            elif kind in (_FIXED64, _FIXED32):
                value = 0
                at = self.file.tell() + (8 if kind == _FIXED64 else 4)
            elif kind == _BYTES:
                size = self._varint()
                value = Message(self.file, self.file.tell(), self.file.tell() + size)
                at = value.end
            else:
                raise Malformed(f"field {field} is of no known kind")
            if field == 0 or at > self.end:
                raise Malformed(f"field {field} goes beyond the end")
            yield field, value, Message(self.file, begin, at)

    def fields(self) -> Iterator[tuple[int, int | Message]]:
        return ((field, value) for field, value, _ in self.parts())

    def inner(self, wanted: int) -> Iterator[Message]:
        return (value for field, value in self.fields() if field == wanted and isinstance(value, Message))

    def content(self) -> bytes:
        self.file.seek(self.begin)
        return self.file.read(self.end - self.begin)

    def text(self) -> str:
        self.file.seek(self.begin)
        return self.file.read(min(self.end - self.begin, _LONGEST_TEXT)).decode("utf-8", "replace")

    def entry(self) -> tuple[str, str]:
        """Of a key with its value."""
        texts = {field: value.text() for field, value in self.fields() if isinstance(value, Message)}
        return texts.get(1, ""), texts.get(2, "")


def _read_dimension(message: Message) -> Dimension:
    dimension = Dimension()
    for field, value in message.fields():
        if field == 1 and isinstance(value, int):
            dimension.size = value
        elif field == 2 and isinstance(value, Message):
            dimension.symbol = value.text()
        elif field == 3 and isinstance(value, Message):
            dimension.denotation = value.text()
    return dimension


def _read_value(value_info: Message) -> Value:
    result = Value(name=next((name.text() for name in value_info.inner(1)), ""))
    for type_ in value_info.inner(2):
        for tensor in type_.inner(1):
            for field, value in tensor.fields():
                if field == 1 and isinstance(value, int):
                    result.element_type = value
                elif field == 2 and isinstance(value, Message):
                    result.dimensions += [_read_dimension(dimension) for dimension in value.inner(1)]
    return result


def _read_graph(graph: Message, model: ModelFile) -> None:
    model.has_graph = True
    for field, value in graph.fields():
        if not isinstance(value, Message):
            continue
        if field == 2:
            model.graph_name = value.text()
        elif field == 5:
            model.initializers.update(name.text() for name in value.inner(8))
        elif field == 10:
            model.graph_description = value.text()
        elif field == 11:
            model.inputs.append(_read_value(value))


def opened(source: str | bytes) -> BinaryIO:
    if isinstance(source, str) and "\0" in source:
        raise NoPath(source)
    return open(source, "rb") if isinstance(source, str) else io.BytesIO(source)


def whole(file: BinaryIO) -> Message:
    return Message(file, 0, file.seek(0, os.SEEK_END))


def read(source: str | bytes) -> ModelFile:
    """Of a path or of bytes. Raises Malformed or OSError."""
    with opened(source) as file:
        model = ModelFile()
        for field, value in whole(file).fields():
            if isinstance(value, int):
                if field == 1:
                    model.ir_version = value
                elif field == 5:
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
                key, text = value.entry()
                model.metadata[key] = text
        return model
