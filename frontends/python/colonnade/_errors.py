# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as one hierarchy. Messages are one line that names node, operator, tensor, expected and found."""


class ColonnadeError(Exception):
    """Every failure of the library."""


class InvalidArgument(ColonnadeError, ValueError):
    """The caller's mistake: a wrong option, shape, name or type."""


class InvalidModel(ColonnadeError, ValueError):
    """The model is malformed or contradicts itself."""


class InvalidInput(ColonnadeError, ValueError):
    """An input cannot be used."""


class Unsupported(ColonnadeError, NotImplementedError):
    """Valid, but this build has no implementation."""


class ResourceLimit(ColonnadeError, MemoryError):
    """A memory limit or a limit on loops cannot be honoured."""


class FileError(ColonnadeError, OSError):
    """A file cannot be read or written."""


class InternalError(ColonnadeError, RuntimeError):
    """A bug in Colonnade."""


class Cancelled(ColonnadeError):
    """A StopSource asked for the end of a run."""


class DeadlineExceeded(ColonnadeError, TimeoutError):
    """A run did not end in time."""
