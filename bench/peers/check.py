# SPDX-License-Identifier: Apache-2.0
"""Compares an engine's outputs with the reference's."""
from __future__ import annotations

import math

import numpy as np


def relative_error(outputs: list[np.ndarray], references: list[np.ndarray]) -> float:
    """Largest difference over the largest |reference|, of the worst output; infinite where they cannot be compared."""
    if len(outputs) != len(references):
        return math.inf
    worst = 0.0
    for output, reference in zip(outputs, references):
        if output.size != reference.size:
            return math.inf
        if reference.size == 0:
            continue
        a, b = output.astype(np.float64).ravel(), reference.astype(np.float64).ravel()
        difference = float(np.max(np.abs(a - b)))
        scale = float(np.max(np.abs(b)))
        if not math.isfinite(difference):
            return math.inf
        worst = max(worst, difference / scale if scale > 0 else difference)
    return worst


def read_outputs(reply: dict) -> list[np.ndarray]:
    names = {"bool": np.uint8, "boolean": np.uint8}
    return [np.fromfile(output["file"], dtype=names.get(output["dtype"], output["dtype"])).reshape(output["shape"])
            for output in reply["outputs"]]
