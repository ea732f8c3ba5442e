# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's Python interface, run by Colonnade: existing programs change their import line.

    import colonnade.onnxruntime as onnxruntime
"""
import sys

from .. import __version__ as _version
from .. import set_log_handler as _set_log_handler
from . import capi
from ._options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from ._session import PROVIDER as _PROVIDER
from ._session import InferenceSession, ModelMetadata, NodeArg
from ._values import IOBinding, OrtDevice, OrtValue
from .capi import onnxruntime_inference_collection, onnxruntime_pybind11_state

__version__ = f"1.31.0+colonnade.{_version}"


def get_version_string() -> str:
    return __version__


def get_build_info() -> str:
    return f"Colonnade {_version}"


def get_device() -> str:
    return "CPU"


def get_available_providers() -> list[str]:
    return [_PROVIDER]


def get_all_providers() -> list[str]:
    return [_PROVIDER]


def set_default_logger_severity(severity: int) -> None:
    """From 0, everything, to 4, fatal errors: lines of the library below it are dropped, others go to stderr."""
    if not 0 <= severity <= 4:
        raise RuntimeError(f"severity >= 0 && severity <= 4 was false. Invalid logging severity {severity}")
    levels = ("debug", "info", "warning", "error")[severity:]

    def handler(level: str, line: str) -> None:
        if level in levels:
            print(f"colonnade: {level}: {line}", file=sys.stderr)

    _set_log_handler(handler)


def set_default_logger_verbosity(verbosity: int) -> None:
    """Accepted; the library has no verbose lines."""


def set_seed(seed: int) -> None:
    """Accepted; operators that draw random numbers take their seed from the model."""


def set_global_thread_pool_sizes(intra_op: int, inter_op: int) -> None:
    """Accepted; all sessions of a process share one set of threads."""


def enable_telemetry_events() -> None:
    """Nothing is ever sent."""


def disable_telemetry_events() -> None:
    """Nothing is ever sent."""


def has_collective_ops() -> bool:
    return False


__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtDevice",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "capi",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_version_string",
    "has_collective_ops",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
]
