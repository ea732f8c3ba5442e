# SPDX-License-Identifier: Apache-2.0
"""Functions of the process: versions, providers, logging."""
from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

from .. import _engine
from ._devices import PROVIDER
from ._options import SessionOptions
from ._version import VERSION

_LEVELS = ("debug", "info", "warning", "error")  # by number; 4 are fatal errors, which the library has not


def get_version_string() -> str:
    return VERSION


def get_build_info() -> str:
    """Who runs the models is said here, and nowhere else."""
    return f"Colonnade {_engine.__version__}, with the interface of ONNX Runtime {VERSION}"


def get_device() -> str:
    return "CPU"


def get_available_providers() -> list[str]:
    return [PROVIDER]


def get_all_providers() -> list[str]:
    return [PROVIDER]


def get_default_session_options() -> SessionOptions:
    return SessionOptions()


def _check_severity(severity: int) -> None:
    if not 0 <= operator.index(severity) <= 4:
        raise RuntimeError(f"severity >= 0 && severity <= 4 was false. Invalid logging severity {severity}")


def set_default_logger_severity(severity: int) -> None:
    """From 0, everything, to 4, fatal errors: lines of the library below it are dropped, others go to stderr."""
    _check_severity(severity)

    def handler(level: str, line: str) -> None:
        if level in _LEVELS[severity:]:
            print(f"colonnade: {level}: {line}", file=sys.stderr)

    _engine.set_log_handler(handler)


def set_default_logger_callback(callback: Callable[[int, str, str, str, str], Any] | None, severity: int = 2) -> None:
    """Calls `callback(severity, category, logid, location, message)` for lines of the library; None: back to stderr."""
    _check_severity(severity)
    if callback is None:
        return set_default_logger_severity(2)
    told = callback

    def handler(level: str, line: str) -> None:
        number = _LEVELS.index(level)
        if number >= severity:
            told(number, "colonnade", "", "", line)

    _engine.set_log_handler(handler)


def set_default_logger_verbosity(verbosity: int) -> None:
    """Accepted; the library has no verbose lines."""
    operator.index(verbosity)


def set_seed(seed: int) -> None:
    """Accepted; operators that draw random numbers take their seed from the model."""
    operator.index(seed)


def set_global_thread_pool_sizes(intra_op: int, inter_op: int) -> None:
    """Accepted; all sessions of a process share one set of threads."""


def create_and_register_allocator(memory_info: Any, arena_configuration: Any = None) -> None:
    """Accepted; a plan has one block of memory of the size that it needs."""


def create_and_register_allocator_v2(
    provider_type: str, memory_info: Any, options: dict[str, str], arena_configuration: Any = None
) -> None:
    """Accepted; a plan has one block of memory of the size that it needs."""


def enable_telemetry_events() -> None:
    """Nothing is ever sent."""


def disable_telemetry_events() -> None:
    """Nothing is ever sent."""


def has_collective_ops() -> bool:
    return False


__all__ = [
    "create_and_register_allocator",
    "create_and_register_allocator_v2",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_default_session_options",
    "get_device",
    "get_version_string",
    "has_collective_ops",
    "set_default_logger_callback",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
]
