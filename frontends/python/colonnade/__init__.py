# SPDX-License-Identifier: Apache-2.0
"""Runs ONNX models on CPUs by tensor columns.

    import colonnade
    session = colonnade.Session("model.onnx")
    outputs = session.run({"image": image})      # numpy arrays by name

Programs written for ONNX Runtime change their import: ``import colonnade.onnxruntime as onnxruntime``.
"""
from ._engine import (
    Model,
    Plan,
    StopSource,
    TensorInfo,
    __version__,
    describe_machine,
    embedded_names,
    numpy_dtype,
    set_log_handler,
)
from ._errors import (
    Cancelled,
    ColonnadeError,
    DeadlineExceeded,
    FileError,
    InternalError,
    InvalidArgument,
    InvalidInput,
    InvalidModel,
    ResourceLimit,
    Unsupported,
)
from ._operators import CustomOperator
from ._quantize import Quantized, QuantizedLayer, quantize
from ._session import Session

__all__ = [
    "Cancelled",
    "ColonnadeError",
    "CustomOperator",
    "DeadlineExceeded",
    "FileError",
    "InternalError",
    "InvalidArgument",
    "InvalidInput",
    "InvalidModel",
    "Model",
    "Plan",
    "Quantized",
    "QuantizedLayer",
    "ResourceLimit",
    "Session",
    "StopSource",
    "TensorInfo",
    "Unsupported",
    "__version__",
    "describe_machine",
    "embedded_names",
    "numpy_dtype",
    "quantize",
    "set_log_handler",
]
