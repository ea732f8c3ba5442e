# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import enum
from typing import Any

from .. import _engine
from .capi.onnxruntime_pybind11_state import NotImplemented as _NotImplemented


class _Enum(enum.IntEnum):
    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class GraphOptimizationLevel(_Enum):
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(_Enum):
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(_Enum):
    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class _Settings:
    """Attributes with types, as those of ONNX Runtime: another type is a TypeError, another name an AttributeError."""

    __slots__ = ("_entries", "_values")
    _entries: dict[str, str]
    _values: dict[str, Any]
    _defaults: dict[str, Any] = {}

    def __init__(self) -> None:
        object.__setattr__(self, "_values", dict(self._defaults))
        object.__setattr__(self, "_entries", {})

    def __getattr__(self, name: str) -> Any:
        try:
            return object.__getattribute__(self, "_values")[name]
        except KeyError:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._defaults:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        wanted = type(self._defaults[name])
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise TypeError(f"{name}: expected {wanted.__name__}, found {type(value).__name__}")
        self._values[name] = value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._defaults]

    def _add_entry(self, key: str, value: str) -> None:
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError("configuration entries are str")
        self._entries[key] = value

    def _get_entry(self, key: str) -> str:
        try:
            return self._entries[key]
        except KeyError:
            raise RuntimeError(f"{type(self).__name__} does not have configuration with key: {key}") from None


class SessionOptions(_Settings):
    """How a session is made. Threads, free dimensions, profiling and logging have an effect; what steers ONNX Runtime's
    own optimiser, arena and second thread pool is accepted and has none. Configuration entries "colonnade.threads",
    "colonnade.schedule", ... are the options of colonnade.Model; other keys are kept."""

    __slots__ = ("_denotations", "_dimensions", "_providers")
    _denotations: dict[str, int]
    _dimensions: dict[str, int]
    _providers: list[str]
    _defaults = {
        "enable_cpu_mem_arena": True,
        "enable_mem_pattern": True,
        "enable_mem_reuse": True,
        "enable_profiling": False,
        "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
        "execution_order": ExecutionOrder.DEFAULT,
        "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL,
        "inter_op_num_threads": 0,
        "intra_op_num_threads": 0,
        "log_severity_level": -1,
        "log_verbosity_level": 0,
        "logid": "",
        "optimized_model_filepath": "",
        "profile_file_prefix": "onnxruntime_profile_",
        "use_deterministic_compute": False,
    }

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "_dimensions", {})
        object.__setattr__(self, "_denotations", {})
        object.__setattr__(self, "_providers", [])

    def add_free_dimension_override_by_name(self, dim_name: str, dim_value: int) -> None:
        self._dimensions[dim_name] = int(dim_value)

    def add_free_dimension_override_by_denotation(self, dim_denotation: str, dim_value: int) -> None:
        self._denotations[dim_denotation] = int(dim_value)

    def add_session_config_entry(self, config_key: str, config_value: str) -> None:
        self._add_entry(config_key, config_value)

    def get_session_config_entry(self, config_key: str) -> str:
        return self._get_entry(config_key)

    def add_provider(self, provider_name: str, provider_options: dict[str, str]) -> None:
        self._providers.append(provider_name)

    def has_providers(self) -> bool:
        return bool(self._providers)

    def register_custom_ops_library(self, library_path: str) -> None:
        raise _NotImplemented("libraries of custom operators are not supported")

    def add_initializer(self, name: str, ort_value: Any) -> None:
        raise _NotImplemented(f"initializer '{name}': replacing initializers is not supported")

    def add_external_initializers(self, names: Any, values: Any) -> None:
        raise _NotImplemented("external initializers from memory are not supported")

    def add_external_initializers_from_files_in_memory(self, *arguments: Any) -> None:
        raise _NotImplemented("external initializers from memory are not supported")


class RunOptions(_Settings):
    """How a run goes. `terminate` may be set while it goes, from another thread: it ends within one step of a column.
    The configuration entry "memory.enable_memory_arena_shrinkage" gives the memory of plans back after the run."""

    __slots__ = ("_stop",)
    _stop: _engine.StopSource
    _defaults = {
        "log_severity_level": -1,
        "log_verbosity_level": 0,
        "logid": "",
        "only_execute_path_to_fetches": False,
        "terminate": False,
    }

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "_stop", _engine.StopSource())

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "terminate":
            if value:
                self._stop.request_stop()
            else:
                object.__setattr__(self, "_stop", _engine.StopSource())

    def add_run_config_entry(self, config_key: str, config_value: str) -> None:
        self._add_entry(config_key, config_value)

    def get_run_config_entry(self, config_key: str) -> str:
        return self._get_entry(config_key)
