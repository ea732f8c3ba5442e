# SPDX-License-Identifier: Apache-2.0
"""Whether two engines agree."""
from __future__ import annotations

from typing import Any

import numpy as np

from case import TOLERANCES, Case


def difference(case: Case, ours: list[Any], theirs: list[Any]) -> str:
    """How our outputs differ from theirs; empty where they agree."""
    if len(ours) != len(theirs):
        return f"{len(ours)} outputs, not {len(theirs)}"
    for index, (a, b) in enumerate(zip(ours, theirs)):
        found = _difference(a, b, case.error)
        if found:
            return f"output {index}: {found}"
    return ""


def _difference(ours: Any, theirs: Any, error: float) -> str:
    if isinstance(theirs, dict):
        if not isinstance(ours, dict) or list(ours) != list(theirs):
            return "other keys"
        return _difference(list(ours.values()), list(theirs.values()), error)
    if isinstance(theirs, list):
        if not isinstance(ours, list) or len(ours) != len(theirs):
            return "another length"
        return next(filter(None, (_difference(a, b, error) for a, b in zip(ours, theirs))), "")
    if theirs is None:  # of a type that ONNX Runtime's Python does not have
        return ""
    return _array_difference(np.asarray(ours), np.asarray(theirs), error)


def _array_difference(ours: np.ndarray, theirs: np.ndarray, error: float) -> str:
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, not {theirs.shape}"
    if ours.dtype.kind in "OUS" or theirs.dtype.kind in "OUS":
        return "" if (ours.astype(str) == theirs.astype(str)).all() else "other text"
    if theirs.dtype == np.uint8 and ours.dtype.name.startswith("float8"):
        theirs = theirs.view(ours.dtype)  # ONNX Runtime's Python has no such type
    if ours.dtype != theirs.dtype:
        return f"{ours.dtype}, not {theirs.dtype}"
    tolerance = error or TOLERANCES.get(theirs.dtype.name, 0.0)
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(a[finite]).all():
        return "other infinities or NaN"
    if not finite.any():
        return ""
    off = np.abs(a[finite] - b[finite]).max()
    scale = np.abs(b[finite]).max()
    return "" if off <= tolerance * scale else f"off by {off:.3g} where the largest is {scale:.3g}"
