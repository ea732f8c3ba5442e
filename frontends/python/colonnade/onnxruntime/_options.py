# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from .. import _engine
from . import _libraries
from ._devices import PROVIDER
from ._enums import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
from ._errors import NotImplemented as _NotImplemented
from ._initializers import Changes


_LONGEST_KEY, _LONGEST_ENTRY = 1024, 8192
_LARGEST = (1 << 31) - 1


def _as_type(name: str, value: Any, wanted: type) -> Any:
    """The value as ONNX Runtime takes it: whatever is true or false, any kind of index, text as str or bytes."""
    if wanted is bool and (value is None or hasattr(type(value), "__bool__")):
        return bool(value)
    if wanted is int and hasattr(type(value), "__index__") and abs(operator.index(value)) <= _LARGEST:
        return operator.index(value)
    if wanted is str and isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, wanted) or wanted is int:
        raise TypeError(f"{name}: expected {wanted.__name__}, found {value!r}")
    return value


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"expected a name, found {name!r}")
    return name


def _array_of(name: str, value: Any) -> Any:
    if not hasattr(value, "_ortvalue"):
        raise RuntimeError(f"initializer '{name}': expected an OrtValue, found {type(value).__name__}")
    return value.numpy()


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
        self._values[name] = _as_type(name, value, type(self._defaults[name]))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._defaults]

    def _add_entry(self, key: str, value: str) -> None:
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError("configuration entries are str")
        if not 0 < len(key) <= _LONGEST_KEY:
            raise RuntimeError(f"the key of a configuration entry has 1 to {_LONGEST_KEY} characters, found {len(key)}")
        if len(value) > _LONGEST_ENTRY:
            raise RuntimeError(f"configuration entry '{key}': {len(value)} characters are more than {_LONGEST_ENTRY}")
        self._entries[key] = value

    def _get_entry(self, key: str) -> str:
        try:
            return self._entries[key]
        except KeyError:
            raise RuntimeError(f"{type(self).__name__} does not have configuration with key: {key}") from None


class SessionOptions(_Settings):
    """How a session is made. Threads, free dimensions, initializers, profiling and logging have an effect; what steers
    ONNX Runtime's own optimiser, arena and second thread pool is accepted and has none. Configuration entries
    "colonnade.threads", "colonnade.schedule", ... are the options of colonnade.Model; other keys are kept."""

    __slots__ = ("_changes", "_denotations", "_dimensions", "_is_cancelled", "_operators", "_providers")
    _changes: Changes
    _denotations: dict[str, int]
    _dimensions: dict[str, int]
    _is_cancelled: bool
    _operators: list[Any]
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
        "use_per_session_threads": True,
    }

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "_dimensions", {})
        object.__setattr__(self, "_denotations", {})
        object.__setattr__(self, "_providers", [])
        object.__setattr__(self, "_changes", Changes())
        object.__setattr__(self, "_is_cancelled", False)
        object.__setattr__(self, "_operators", [])

    def add_free_dimension_override_by_name(self, dim_name: str, dim_value: int) -> None:
        self._dimensions[_text(dim_name)] = operator.index(dim_value)

    def add_free_dimension_override_by_denotation(self, dim_denotation: str, dim_value: int) -> None:
        self._denotations[_text(dim_denotation)] = operator.index(dim_value)

    def add_session_config_entry(self, config_key: str, config_value: str) -> None:
        self._add_entry(config_key, config_value)

    def get_session_config_entry(self, config_key: str) -> str:
        return self._get_entry(config_key)

    def add_provider(self, provider_name: str, provider_options: dict[str, str]) -> None:
        self._providers.append(provider_name)

    def add_provider_for_devices(self, ep_devices: Sequence[Any], provider_options: dict[str, str]) -> None:
        self._providers += [device.ep_name for device in ep_devices]

    def has_providers(self) -> bool:
        return bool(self._providers)

    def set_provider_selection_policy(self, policy: Any) -> None:
        """Accepted: there is one provider."""
        self._providers.append(PROVIDER)

    def set_provider_selection_policy_delegate(self, delegate: Any) -> None:
        """Accepted: there is one provider."""
        self._providers.append(PROVIDER)

    def register_custom_ops_library(self, library_path: str) -> None:
        """Sessions made of these options have its operators; they are before those of Colonnade."""
        self._operators.append(_libraries.operators_of(library_path))

    def add_initializer(self, name: str, ort_value: Any) -> None:
        """Takes the place of the model's initializer of that name; of the same type and shape."""
        if _text(name) in self._changes.arrays:
            raise RuntimeError(f"initializer '{name}': is given twice")
        self._changes.arrays[name] = _array_of(name, ort_value)

    def add_external_initializers(self, names: Sequence[str], values: Sequence[Any]) -> None:
        """Elements for initializers that lie outside of the model."""
        if len(names) != len(values):
            raise RuntimeError(f"expected as many values as names, {len(names)}, found {len(values)}")
        for name, value in zip(names, values):
            if _text(name) in self._changes.external:
                raise RuntimeError(f"initializer '{name}': is given twice")
            self._changes.external[name] = value.numpy()

    def add_external_initializers_from_files_in_memory(
        self, file_names: Sequence[str], contents: Sequence[bytes], lengths: Sequence[int]
    ) -> None:
        """Contents of the files that the model's external initializers are in."""
        if not len(file_names) == len(contents) == len(lengths):
            raise RuntimeError("expected as many names as contents and lengths")
        files = zip(file_names, contents, lengths)
        self._changes.files.update({name: bytes(content[:length]) for name, content, length in files})

    def set_load_cancellation_flag(self, value: bool) -> None:
        """True: sessions are not made of these options. One that is being made is made."""
        object.__setattr__(self, "_is_cancelled", bool(value))

    def set_ep_context_data_read_func(self, read_func: Any) -> None:
        raise _NotImplemented("models are not compiled for providers")

    def clear_ep_context_data_read_func(self) -> None:
        """There is none."""


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

    def add_active_adapter(self, adapter: Any) -> None:
        raise TypeError(f"expected a LoraAdapter, of which there are none, found {type(adapter).__name__}")
