# SPDX-License-Identifier: Apache-2.0
"""The exceptions of ONNX Runtime, and what raises which."""
from __future__ import annotations

import re

from .._errors import (
    Cancelled,
    ColonnadeError,
    DeadlineExceeded,
    FileError,
    InternalError,
    InvalidInput,
    InvalidModel,
    ResourceLimit,
    Unsupported,
)
from .._errors import InvalidArgument as _InvalidArgument


class Fail(ColonnadeError):
    pass


class InvalidArgument(ColonnadeError):
    pass


class NoSuchFile(ColonnadeError):
    pass


class NoModel(ColonnadeError):
    pass


class EngineError(ColonnadeError):
    pass


class RuntimeException(ColonnadeError):
    pass


class InvalidProtobuf(ColonnadeError):
    pass


class ModelLoaded(ColonnadeError):
    pass


class NotImplemented(ColonnadeError):
    pass


class InvalidGraph(ColonnadeError):
    pass


class EPFail(ColonnadeError):
    pass


class ModelLoadCanceled(ColonnadeError):
    pass


class ModelRequiresCompilation(ColonnadeError):
    pass


class NotFound(ColonnadeError):
    pass


class DeviceReset(ColonnadeError):
    pass


_CLASSES = {
    _InvalidArgument: InvalidArgument,
    InvalidInput: InvalidArgument,
    InvalidModel: Fail,
    Unsupported: NotImplemented,
    ResourceLimit: RuntimeException,
    FileError: Fail,
    InternalError: Fail,
    Cancelled: Fail,
    DeadlineExceeded: Fail,
}


def translated(error: ColonnadeError) -> ColonnadeError:
    """What ONNX Runtime would have raised, with the same message."""
    message = str(error)
    operator = _OPERATOR.match(message)
    kind = _AT_RUN.get(operator[1]) if operator and isinstance(error, (InvalidModel, InvalidInput)) else None
    return (kind or _CLASSES.get(type(error), Fail))(message)


# What ONNX Runtime calls a model that cannot be loaded, by what the library's message says; anything else is Fail.
_AT_LOAD = (
    (re.compile(r"input '.*' is not defined|output '.*' of function '.*' is not defined"), InvalidArgument),
    (re.compile(r"put '[^']*': (has no element type|element type \d+ does not exist)"), InvalidArgument),
    (re.compile(r"operator \S+ of domain (ai\.onnx|ai\.onnx\.ml) in opset"), InvalidGraph),
    (re.compile(r"operator \S+ of domain (?!com\.microsoft )\S+ in opset 0 "), InvalidGraph),
    (re.compile(r"expected \d+ to \d+ (inputs|outputs), found|input \d+ is required|has no operator"), InvalidGraph),
    (re.compile(r"attribute '.*'( is required| is given twice|: expected (?!a graph of))"), InvalidGraph),
    (re.compile(r"input \d+ '.*': expected another type|captured value '.*' is not defined|it has no outputs"), InvalidGraph),
    (re.compile(r"imports no opset of domain|function '.*' calls itself"), InvalidGraph),
)
# What it calls a run that fails in one of these operators, by their names in the library's message.
_AT_RUN = {
    "Cast": RuntimeException,
    "Expand": InvalidArgument,
    "GatherNd": InvalidArgument,
    "Slice": InvalidArgument,
    "Tile": InvalidArgument,
    "Unsqueeze": InvalidArgument,
}
_OPERATOR = re.compile(r"^node '.*?' \((\w+)\): ")


def translated_at_load(error: ColonnadeError) -> ColonnadeError:
    """The same, of a model that cannot be loaded."""
    if not isinstance(error, (InvalidModel, Unsupported)):
        return translated(error)
    message = str(error)
    return next((kind for pattern, kind in _AT_LOAD if pattern.search(message)), Fail)(message)
