# SPDX-License-Identifier: Apache-2.0
"""The exceptions of ONNX Runtime, and what raises which."""
from __future__ import annotations

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


def translated_at_load(error: ColonnadeError) -> ColonnadeError:
    """The same, of a model that cannot be loaded: operators that there are not make its graph invalid."""
    return InvalidGraph(str(error)) if isinstance(error, (InvalidModel, Unsupported)) else translated(error)
