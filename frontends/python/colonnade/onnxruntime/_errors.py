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
    return _CLASSES.get(type(error), Fail)(str(error))


# What ONNX Runtime calls a model that cannot be loaded, by what the library's message says; anything else is Fail.
_AT_LOAD = (
    (re.compile(r"input '.*' is not defined"), InvalidArgument),
    (re.compile(r"operator \S+ of domain (ai\.onnx|ai\.onnx\.ml|com\.microsoft) in opset"), InvalidGraph),
    (re.compile(r"operator \S+ of domain \S+ in opset 0 "), InvalidGraph),
    (re.compile(r"expected \d+ to \d+ inputs, found"), InvalidGraph),
    (re.compile(r"attribute '.*'( is required|: expected)"), InvalidGraph),
)


def translated_at_load(error: ColonnadeError) -> ColonnadeError:
    """The same, of a model that cannot be loaded."""
    if not isinstance(error, (InvalidModel, Unsupported)):
        return translated(error)
    message = str(error)
    return next((kind for pattern, kind in _AT_LOAD if pattern.search(message)), Fail)(message)
