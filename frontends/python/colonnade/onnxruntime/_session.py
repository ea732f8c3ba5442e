# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import concurrent.futures
import json
import os
import shutil
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from .. import _engine
from .._errors import ColonnadeError, InvalidArgument, InvalidInput
from . import _onnx_file, _types
from ._options import RunOptions, SessionOptions
from ._values import IOBinding, OrtValue
from .capi import onnxruntime_pybind11_state as _state

PROVIDER = "CPUExecutionProvider"
_OPTION_PREFIX = "colonnade."
_SHRINK = "memory.enable_memory_arena_shrinkage"
_workers: concurrent.futures.ThreadPoolExecutor | None = None


class NodeArg:
    """An input or output of a model."""

    def __init__(self, info: _engine.TensorInfo) -> None:
        self.name = info.name
        self.type = _types.type_text(info)
        self.shape = list(info.shape or ())

    def __repr__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"


class ModelMetadata:
    def __init__(self, file: _onnx_file.ModelFile) -> None:
        self.producer_name = file.producer_name
        self.domain = file.domain
        self.version = file.version
        self.description = file.description
        self.graph_name = file.graph_name
        self.graph_description = file.graph_description
        self.custom_metadata_map = file.metadata


def _check_providers(providers: Sequence[Any] | None) -> None:
    """Providers that there are not are warned of, and the CPU is used: as ONNX Runtime does."""
    for provider in providers or ():
        name = provider[0] if isinstance(provider, tuple) and provider else provider
        if name != PROVIDER:
            warnings.warn(
                f"Specified provider '{name}' is not in available provider names.Available providers: '{PROVIDER}'",
                stacklevel=4,
            )


def _model_options(options: SessionOptions, file: _onnx_file.ModelFile) -> dict[str, Any]:
    """Keyword arguments of colonnade.Model. Overrides of dimensions that the model has not are without effect."""
    keywords: dict[str, Any] = {}
    if options.intra_op_num_threads > 0:
        keywords["threads"] = options.intra_op_num_threads
    sizes = {}
    for dimension in file.dimensions:
        size = options._dimensions.get(dimension.symbol, options._denotations.get(dimension.denotation))
        if dimension.symbol and size is not None:
            sizes[dimension.symbol] = size
    if sizes:
        keywords["dimensions"] = sizes
    for key, text in options._entries.items():
        if key.startswith(_OPTION_PREFIX):
            keywords[key[len(_OPTION_PREFIX) :]] = int(text) if text.isdigit() else text
    return keywords


def _read_file(source: str | bytes) -> _onnx_file.ModelFile:
    try:
        file = _onnx_file.read(source)
    except FileNotFoundError:
        raise _state.NoSuchFile(f"Load model from {source!r} failed. File doesn't exist") from None
    except (_onnx_file.Malformed, IsADirectoryError) as error:
        what = source if isinstance(source, str) else "bytes"
        raise _state.InvalidProtobuf(f"Load model from {what} failed: {error}") from None
    if not file.has_graph:
        raise _state.InvalidArgument("No graph was found in the protobuf.")
    return file


class InferenceSession:
    """onnxruntime.InferenceSession, run by Colonnade. Safe to share between threads."""

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str],
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        if isinstance(path_or_bytes, bytes):
            source: str | bytes = path_or_bytes
        elif isinstance(path_or_bytes, (str, os.PathLike)):
            source = os.fspath(path_or_bytes)
        else:
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        if source == "":
            raise TypeError("Unable to load from an empty path")
        _check_providers(providers)
        self._options = SessionOptions() if sess_options is None else sess_options
        file = _read_file(source)
        try:
            model = _engine.Model(source, **_model_options(self._options, file))
            self._session = _engine.Session(model)
        except ColonnadeError as error:
            raise _state.translated_at_load(error) from None
        self._run = self._session.run_list
        self._metadata = ModelMetadata(file)
        self._inputs = [NodeArg(info) for info in model.inputs]
        self._outputs = [NodeArg(info) for info in model.outputs]
        self._profile_start = time.monotonic_ns()
        if self._options.enable_profiling:
            self._session.set_profiling(True)
        if self._options.optimized_model_filepath:
            self._write_model(source, self._options.optimized_model_filepath)

    @staticmethod
    def _write_model(source: str | bytes, path: str) -> None:
        """Plans are made when a model is loaded: the file to load later is the model itself."""
        if isinstance(source, bytes):
            with open(path, "wb") as file:
                file.write(source)
        else:
            shutil.copyfile(source, path)

    def get_inputs(self) -> list[NodeArg]:
        return self._inputs

    def get_outputs(self) -> list[NodeArg]:
        return self._outputs

    def get_overridable_initializers(self) -> list[NodeArg]:
        return []

    def get_modelmeta(self) -> ModelMetadata:
        return self._metadata

    def get_session_options(self) -> SessionOptions:
        return self._options

    def get_providers(self) -> list[str]:
        return [PROVIDER]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {PROVIDER: {}}

    def set_providers(self, providers: Sequence[Any] | None = None, provider_options: Any = None) -> None:
        _check_providers(providers)

    def enable_fallback(self) -> None:
        """Nothing to fall back from: there is one provider."""

    def disable_fallback(self) -> None:
        """Nothing to fall back from: there is one provider."""

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None
    ) -> list[Any]:
        try:
            if run_options is None:
                return self._run(input_feed, output_names or None)
            results = self._run(input_feed, output_names or None, stop=run_options._stop)
        except ColonnadeError as error:
            return self._explain(error, output_names, input_feed, run_options)
        if run_options._entries.get(_SHRINK):
            self._session.shrink()
        return results

    def _explain(self, error: ColonnadeError, names: Any, feeds: Mapping[str, Any], options: Any) -> list[Any]:
        """Raises what ONNX Runtime would have, or runs with arrays where lists were given, which it takes as well."""
        missing = [arg.name for arg in self._inputs if arg.name not in feeds and not arg.type.startswith("optional")]
        if missing:
            raise ValueError(f"Required inputs ({missing}) are missing from input feed ({list(feeds)}).") from None
        if not isinstance(error, (InvalidArgument, InvalidInput)):
            raise _state.translated(error) from None
        arrays = dict(feeds)
        for info in self._session.model.inputs:
            value = feeds.get(info.name)
            if info.containers or value is None or isinstance(value, numpy.ndarray):
                continue
            if isinstance(value, list):
                arrays[info.name] = numpy.asarray(value, _engine.numpy_dtype(info.dtype))
            elif not hasattr(value, "__array_interface__"):
                raise RuntimeError(
                    f"Input must be a list of dictionaries or a single numpy array for input '{info.name}'."
                ) from None
        if all(arrays[name] is feeds[name] for name in feeds):
            raise _state.translated(error) from None
        return self.run(names, arrays, options)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Calls `callback(results, user_data, message)` from another thread; the message is empty when all is well."""
        global _workers
        if _workers is None:
            _workers = concurrent.futures.ThreadPoolExecutor(thread_name_prefix="colonnade")

        def work() -> None:
            try:
                results, message = self.run(output_names, input_feed, run_options), ""
            except Exception as error:
                results, message = [], str(error)
            callback(results, user_data, message)

        _workers.submit(work)

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        feeds = {name: value.numpy() for name, value in input_dict_ort_values.items()}
        return [OrtValue(result) for result in self.run(output_names, feeds, run_options)]

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        if iobinding._session is not self:
            raise ValueError("IOBinding must be used with the session that created it.")
        iobinding._run(self._run, {} if run_options is None else {"stop": run_options._stop})

    def get_profiling_start_time_ns(self) -> int:
        return self._profile_start

    def end_profiling(self) -> str:
        """Writes the trace of the last run in Chrome's format and returns the name of the file; "" without profiling."""
        if not self._options.enable_profiling:
            return ""
        path = f"{self._options.profile_file_prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}.json"
        try:
            trace = self._session.trace()
        except ColonnadeError:  # nothing was run
            trace = {"traceEvents": []}
        with open(path, "w") as file:
            json.dump(trace["traceEvents"], file)
        self._session.set_profiling(False)
        return path
