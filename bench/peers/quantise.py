#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks in int8 by ONNX Runtime's own tools: quantise.py IN.onnx OUT.onnx. OUT ends with _dyn8 (weights int8, inputs
quantised as they come) or _qdq8 (activations uint8, weights int8 a channel, calibrated with seeded random inputs: such
files are for timing, not for answers)."""
from __future__ import annotations

import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

SEED, SAMPLES = 0, 2


class RandomInputs(CalibrationDataReader):
    def __init__(self, file: str):
        generator = np.random.default_rng(SEED)
        inputs = onnx.load(file, load_external_data=False).graph.input
        self.samples = iter([{value.name: self.array(value.type.tensor_type, generator) for value in inputs}
                             for _ in range(SAMPLES)])

    @staticmethod
    def array(tensor, generator: np.random.Generator) -> np.ndarray:
        shape = [dim.dim_value or 1 for dim in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        return generator.standard_normal(shape).astype(dtype) if dtype.kind == "f" else np.ones(shape, dtype)

    def get_next(self) -> dict | None:
        return next(self.samples, None)


def main(source: str, target: str) -> None:
    if pathlib.Path(target).stem.endswith("_dyn8"):
        quantize_dynamic(source, target, weight_type=QuantType.QInt8)
        return
    with tempfile.TemporaryDirectory() as folder:
        plain = f"{folder}/plain.onnx"
        quant_pre_process(source, plain, skip_symbolic_shape=True)
        quantize_static(plain, target, RandomInputs(plain), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)


if __name__ == "__main__":
    main(*sys.argv[1:])
