# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as one hierarchy. Messages are one line that names node, operator, tensor, expected and found."""
import errno
import os


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
    """A file cannot be read or written. `errno`, `strerror` and `filename` are set where they are known; what has a
    class of its own in Python is of that as well: FileNotFoundError, PermissionError, IsADirectoryError."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[object, ...]:
        return file_error, (str(self), self.errno or 0, self.filename or "")


class _Missing(FileError, FileNotFoundError):
    pass


class _Forbidden(FileError, PermissionError):
    pass


class _Folder(FileError, IsADirectoryError):
    pass


for _class in (_Missing, _Forbidden, _Folder):
    _class.__name__, _class.__qualname__ = FileError.__name__, FileError.__qualname__
_BY_NUMBER = {errno.ENOENT: _Missing, errno.EACCES: _Forbidden, errno.EPERM: _Forbidden, errno.EISDIR: _Folder}


def file_error(message: str, number: int, path: str) -> FileError:
    """The error of a file that could not be opened for the reason of that number; 0: for another one."""
    if number == 0 and os.path.isdir(path):
        number = errno.EISDIR
    error = _BY_NUMBER.get(number, FileError)(message)
    if number != 0:
        error.errno, error.strerror, error.filename = number, os.strerror(number), path
    return error


class InternalError(ColonnadeError, RuntimeError):
    """A bug in Colonnade."""


class Cancelled(ColonnadeError):
    """A StopSource asked for the end of a run."""


class DeadlineExceeded(ColonnadeError, TimeoutError):
    """A run did not end in time."""
