# SPDX-License-Identifier: Apache-2.0
"""Libraries of custom operators, which call ONNX Runtime's C interface: Colonnade's library has it."""
from __future__ import annotations

import importlib.metadata
import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

from .. import _engine
from . import _errors

_NAME = "libonnxruntime.so.1"
_BY_CODE = {
    1: _errors.Fail,
    2: _errors.InvalidArgument,
    3: _errors.NoSuchFile,
    6: _errors.RuntimeException,
    9: _errors.NotImplemented,
    10: _errors.InvalidGraph,
    11: _errors.EPFail,
}


def _interfaces() -> Iterator[pathlib.Path]:
    """Where the library may be: where it was built, in the package colonnade-onnxruntime, in Debian's."""
    yield pathlib.Path(_engine.__file__).resolve().parents[2] / "onnxruntime" / _NAME
    try:
        files = importlib.metadata.files("colonnade-onnxruntime") or []
        yield from (pathlib.Path(str(file.locate())) for file in files if file.name.startswith(_NAME))
    except importlib.metadata.PackageNotFoundError:
        pass
    yield from sorted(pathlib.Path("/usr/lib").glob(f"*/colonnade/{_NAME}"))


def operators_of(path: str) -> Any:
    """What a model is made with besides. The library at `path` stays loaded."""
    if path is None:
        raise RuntimeError("a library of operators has a path, found None")
    if not isinstance(path, str):
        raise TypeError(f"a library of operators has a path, found {type(path).__name__}")
    found = next((interface for interface in _interfaces() if interface.exists()), None)
    if found is None and os.path.exists(path):
        raise _errors.NotImplemented(
            f"'{path}': libraries of operators call ONNX Runtime's C interface, which the package colonnade-onnxruntime "
            f"has beside {sys.executable}: pip install colonnade-onnxruntime"
        )
    if found is None:
        raise _errors.Fail(f"Failed to load library {path}: there is no such file")
    code, message, library = _engine.operators_of_library(str(found), path)
    if code != 0:
        raise _BY_CODE.get(code, _errors.Fail)(f"Failed to load library {path}: {message}")
    return library
