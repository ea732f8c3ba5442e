# SPDX-License-Identifier: Apache-2.0
"""Small ONNX files without the onnx package."""


def _varint(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def _field(number, value):
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _tensor(name, shape):
    dims = b"".join(_field(1, _field(2, size) if isinstance(size, str) else _field(1, size)) for size in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, 1) + _field(2, dims)))


def unary(op, shape):
    """The operator on a float32 `x` of the shape, in which a name stands for an open dimension; its output is `y`."""
    node = _field(1, "x") + _field(2, "y") + _field(3, "n") + _field(4, op)
    graph = _field(1, node) + _field(2, op) + _field(11, _tensor("x", shape)) + _field(12, _tensor("y", shape))
    return _field(1, 8) + _field(7, graph) + _field(8, _field(2, 17))
