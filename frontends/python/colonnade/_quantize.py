# SPDX-License-Identifier: Apache-2.0
"""Quantised models."""
from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Callable, Iterable
from typing import Any

from . import _engine
from ._errors import InvalidArgument


@dataclasses.dataclass(frozen=True)
class QuantizedLayer:
    """A layer with weights: what its input's bytes stand for, and the SQNR in dB of its output with this layer alone
    quantised. ``reason`` says why a layer stays float32, ``smoothed`` that a norm in front gave its weights what made its
    input hard to round."""

    node: str
    op: str
    low: float
    high: float
    sqnr: float
    quantised: bool
    reason: str
    smoothed: bool


@dataclasses.dataclass(frozen=True)
class Quantized:
    """A quantised model: the bytes of its file, a row a layer, and the SQNR in dB of the worst of the last layers."""

    model: bytes = dataclasses.field(repr=False)
    layers: list[QuantizedLayer] = dataclasses.field(repr=False)
    sqnr: float


def quantize(
    model: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    data: Iterable[Any] | None = None,
    *,
    samples: int = 100,
    method: str = "percentile",
    weights_only: str | None = None,
    accuracy_level: int = 0,
    keep: Iterable[str] = (),
    sqnr: float = 0.0,
    threads: int = 0,
    progress: Callable[[str, float], object] | None = None,
) -> Quantized:
    """Makes an int8 model, standard ONNX with QuantizeLinear and DequantizeLinear, of a float32 one.

    model: path of the ONNX file. out: path that the result is written to, or None.
    data: inputs as the network will meet them, one sample after another: an array where the model has one input, else a
    sequence of arrays in the order of the inputs or a dict by name. At most `samples` of them are taken, evenly spread.
    method: how ranges of activations are found: "percentile", "mse" or "minmax".
    weights_only: "int8" or "int4" leaves activations as they are and needs no data. accuracy_level: of "int4"; 4 lets
    products round their rows to int8, with a scale for each 32 numbers, which is faster, 0 does not.
    keep: names of nodes that stay float32. sqnr: dB; layers stay float32 until the outputs reach it, a third at most.
    threads: 0 takes one a core. progress: called with what is done and how far, from 0 to 1; what it raises ends the work.

    Memory: the model a few times and the tensors of one sample, besides `data`. Raises InvalidArgument, InvalidInput for
    samples that do not fit, InvalidModel, FileError, and Unsupported where there is nothing to quantise.
    """
    if not isinstance(model, (str, os.PathLike)):
        raise InvalidArgument(f"model: expected the path of a file, found {type(model).__name__}")
    if weights_only is None and data is None:
        raise InvalidArgument("data is needed: samples of inputs as the network will meet them")
    if weights_only is not None and data is not None:
        raise InvalidArgument("weights_only needs no calibration: leave out data")
    if accuracy_level not in (0, 4):
        raise InvalidArgument(f"accuracy_level: expected 0 or 4, found {accuracy_level!r}")
    if accuracy_level != 0 and weights_only != "int4":
        raise InvalidArgument("accuracy_level is an attribute of weights of four bits: add weights_only='int4'")
    if isinstance(keep, str):
        raise InvalidArgument("keep: expected names of nodes, found one str")
    if samples < 1:
        raise InvalidArgument(f"samples: expected 1 or more, found {samples}")
    given = list(data) if data is not None else []
    count = min(len(given), samples)
    taken = [given[index * len(given) // count] for index in range(count)]
    bytes_of, layers, reached = _engine.quantize(os.fspath(model), taken, method, weights_only, accuracy_level,
                                                 list(keep), float(sqnr), threads, progress)
    if out is not None:
        pathlib.Path(out).write_bytes(bytes_of)
    return Quantized(bytes_of, [QuantizedLayer(**layer) for layer in layers], reached)
