# SPDX-License-Identifier: Apache-2.0
"""Compares an engine's outputs with the reference's."""
from __future__ import annotations

import math

import numpy as np

SMALLEST_SCALE = 1e-3


def relative_error(outputs: list[np.ndarray], references: list[np.ndarray]) -> float:
    """Largest difference over the largest |reference|, of the worst output; infinite where they cannot be compared.

    Outputs that are all below SMALLEST_SCALE count as if they reached it: ONNX Runtime's sigmoid errs by 1e-7 however
    small it is.
    """
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
        scale = max(float(np.max(np.abs(b))), SMALLEST_SCALE)
        if not math.isfinite(difference):
            return math.inf
        worst = max(worst, difference / scale)
    return worst


def read_outputs(reply: dict) -> list[np.ndarray]:
    names = {"bool": np.uint8, "boolean": np.uint8}
    return [np.fromfile(output["file"], dtype=names.get(output["dtype"], output["dtype"])).reshape(output["shape"])
            for output in reply["outputs"]]
