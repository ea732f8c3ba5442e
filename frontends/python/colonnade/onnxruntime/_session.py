# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import concurrent.futures
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy

from .. import _engine
from .._errors import ColonnadeError, FileError, InvalidArgument, InvalidInput
from . import _errors, _onnx_file, _types
from ._devices import PROVIDER, OrtDevice, OrtEpDevice, OrtMemoryInfo
from ._initializers import Changes
from ._options import RunOptions, SessionOptions
from ._profile import Profile
from ._providers import PROVIDERS, check_providers
from ._values import IOBinding, OrtValue, OrtValueVector

_OPTION_PREFIX = "colonnade."
_SHRINK = "memory.enable_memory_arena_shrinkage"
_OPTIMIZED_WEIGHTS = "session.optimized_model_external_initializers_"
_FOLDER = "session.model_external_initializers_file_folder_path"
_NO_ARRAYS = (tuple, memoryview, numpy.generic, int, float, complex)  # that ONNX Runtime does not take for tensors
_FATAL = 4
_ANY_SIZE = -1
_PLAIN_NAMES = (list, type(None))
_workers: concurrent.futures.ThreadPoolExecutor | None = None


class NodeArg:
    """An input or output of a model."""

    def __init__(self, name: str, type_text: str, shape: Sequence[int | str | None]) -> None:
        self._name, self._type, self._shape = name, type_text, list(shape)

    @property
    def name(self) -> str:
        return self._name

    @property
    def type(self) -> str:
        return self._type

    @property
    def shape(self) -> list[int | str | None]:
        return self._shape

    def __repr__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"


def _arg_of(info: _engine.TensorInfo) -> NodeArg:
    return NodeArg(info.name, _types.type_text(info), info.shape or ())


def _overridable_arg(value: _onnx_file.Value) -> NodeArg:
    shape = [dimension.symbol or (None if dimension.size < 0 else dimension.size) for dimension in value.dimensions]
    return NodeArg(value.name, _types.tensor_type(_types.name_of_number(value.element_type)), shape)


class ModelMetadata:
    def __init__(self, file: _onnx_file.ModelFile) -> None:
        self.producer_name = file.producer_name
        self.domain = file.domain
        self.version = file.version
        self.description = file.description
        self.graph_name = file.graph_name
        self.graph_description = file.graph_description
        self.custom_metadata_map = file.metadata


def _model_options(options: SessionOptions, file: _onnx_file.ModelFile) -> dict[str, Any]:
    """Keyword arguments of colonnade.Model. Overrides of dimensions that the model has not are without effect."""
    keywords: dict[str, Any] = {"padding": "compute", "schema": True}
    if options.intra_op_num_threads > 0:
        keywords["threads"] = options.intra_op_num_threads
    sizes = {}
    for dimension in (dimension for value in file.inputs for dimension in value.dimensions):
        size = options._dimensions.get(dimension.symbol, options._denotations.get(dimension.denotation))
        if dimension.symbol and size is not None and size >= 0:
            sizes[dimension.symbol] = size
        elif dimension.symbol:
            sizes[dimension.symbol] = _ANY_SIZE  # dimensions of one name may differ, as in ONNX Runtime
    if sizes:
        keywords["dimensions"] = sizes
    for key, text in options._entries.items():
        if key.startswith(_OPTION_PREFIX):
            keywords[key[len(_OPTION_PREFIX) :]] = int(text) if text.isdigit() else text
    return keywords


def _read_file(source: str | bytes) -> _onnx_file.ModelFile:
    try:
        file = _onnx_file.read(source)
    except (FileNotFoundError, _onnx_file.NoPath):
        raise _errors.NoSuchFile(f"Load model from {source!r} failed. File doesn't exist") from None
    except (_onnx_file.Malformed, IsADirectoryError) as error:
        what = source if isinstance(source, str) else "bytes"
        raise _errors.InvalidProtobuf(f"Load model from {what} failed: {error}") from None
    if not file.has_graph:
        raise _errors.InvalidArgument("No graph was found in the protobuf.")
    return file


def _changes_of(options: SessionOptions, removed: frozenset[str] = frozenset()) -> Changes:
    changes = Changes()
    changes.arrays, changes.external, changes.files = options._changes.arrays, options._changes.external, options._changes.files
    changes.folder, changes.removed = options._entries.get(_FOLDER, ""), removed
    return changes


def _source_of(path_or_bytes: Any) -> str | bytes:
    if isinstance(path_or_bytes, bytes):
        return path_or_bytes
    if not isinstance(path_or_bytes, (str, os.PathLike)):
        raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
    source = os.fspath(path_or_bytes)
    if source == "":
        raise TypeError("Unable to load from an empty path")
    return source


def _check_severity(severity: int) -> None:
    if severity > _FATAL:
        raise _errors.Fail(f"log_severity_level: expected at most {_FATAL}, found {severity}")


def _names_of(names: Any) -> list[str]:
    if isinstance(names, (str, bytes)) or not isinstance(names, (Sequence, Set, numpy.ndarray)):
        raise TypeError(f"names of outputs: expected a sequence of str, found {type(names).__name__}")
    return [str(name) if isinstance(name, numpy.str_) else name for name in names]


def _array_of(value: list[Any], info: _engine.TensorInfo) -> numpy.ndarray:
    try:
        return numpy.asarray(value, _engine.numpy_dtype(info.dtype))
    except (ValueError, OverflowError) as error:
        raise RuntimeError(f"input '{info.name}': {error}") from None


class Session:
    """What sessions of ONNX Runtime have in common; there is one kind, InferenceSession."""

    _options: SessionOptions
    _session: _engine.Session

    def __init__(self, source: str | bytes, options: SessionOptions) -> None:
        if not isinstance(options, SessionOptions):
            raise TypeError(f"expected SessionOptions, found {type(options).__name__}")
        if options._is_cancelled:
            raise _errors.ModelLoadCanceled("the options' load cancellation flag is set")
        self._profile_start = time.monotonic_ns()
        self._options, self._source = options, source
        file = _read_file(source)
        self._file = file
        self._session = self._engine_session(frozenset())
        if options.optimized_model_filepath:
            self._write_optimized(options.optimized_model_filepath)
        self._others: dict[frozenset[str], _engine.Session] = {}
        self._run = self._session.run_list
        self._metadata = ModelMetadata(file)
        self._overridable = [_overridable_arg(value) for value in file.overridable()]
        if not self._overridable:
            self._source = ""  # not needed any more
        known = {arg.name for arg in self._overridable}
        self._inputs = [_arg_of(info) for info in self._session.inputs if info.name not in known]
        self._outputs = [_arg_of(info) for info in self._session.outputs]
        self._profile: Profile | None = None
        if options.enable_profiling:
            self._profile = Profile(self._profile_start)
            self._profile.add_loading(isinstance(source, str))
            self._run = self._profiled

    def _engine_session(self, removed: frozenset[str]) -> _engine.Session:
        """Of the model with the initializers that the options name, and without those that runs give."""
        changes = _changes_of(self._options, removed)
        source = changes.applied(self._source) if changes else self._source
        keywords = _model_options(self._options, self._file)
        if self._options.optimized_model_filepath:
            keywords["keep_bytes"] = True
        if self._options._operators:
            keywords["operators"] = self._options._operators
        try:
            return _engine.Session(_engine.Model(source, **keywords))
        except ColonnadeError as error:
            raise _errors.translated_at_load(error) from None

    def _write_optimized(self, path: str) -> None:
        entries = self._options._entries
        weights = entries.get(_OPTIMIZED_WEIGHTS + "file_name", "")
        least = entries.get(_OPTIMIZED_WEIGHTS + "min_size_in_bytes", "1024")
        if not least.isdigit():
            raise _errors.InvalidArgument(f"{_OPTIMIZED_WEIGHTS}min_size_in_bytes: expected a number, found '{least}'")
        try:
            self._session.model.write_optimized(path, weights, int(least))
        except FileError as error:
            raise (RuntimeError if os.path.isdir(path) else _errors.InvalidArgument)(str(error)) from None
        except ColonnadeError as error:
            raise _errors.translated(error) from None

    def _profiled(self, *arguments: Any, **keywords: Any) -> list[Any]:
        assert self._profile is not None
        result: list[Any] = self._profile.run(self._session, lambda: self._session.run_list(*arguments, **keywords))
        return result

    @property
    def _sess(self) -> StateSession:
        """The same session with the interface of ONNX Runtime's extension module."""
        session = StateSession.__new__(StateSession)
        session.__dict__ = self.__dict__
        return session

    def _is_container(self, name: str) -> bool:
        return any(info.name == name and bool(info.containers) for info in self._session.inputs)

    def get_inputs(self) -> list[NodeArg]:
        return self._inputs

    def get_outputs(self) -> list[NodeArg]:
        return self._outputs

    def get_overridable_initializers(self) -> list[NodeArg]:
        return self._overridable

    def get_modelmeta(self) -> ModelMetadata:
        return self._metadata

    def get_session_options(self) -> SessionOptions:
        return self._options

    def get_providers(self) -> list[str]:
        return [PROVIDER]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {PROVIDER: {}}

    def set_providers(self, providers: Sequence[Any] | None = None, provider_options: Any = None) -> None:
        iter(providers or ())  # what is no list of any kind is a TypeError
        check_providers(providers, provider_options)
        for provider in providers or ():
            name = provider if isinstance(provider, str) else provider[0]
            if name not in PROVIDERS:
                raise RuntimeError(f"Unknown Provider Type: {name}")

    def get_input_memory_infos(self) -> list[OrtMemoryInfo]:
        return [OrtMemoryInfo() for _ in self._inputs]

    def get_output_memory_infos(self) -> list[OrtMemoryInfo]:
        return [OrtMemoryInfo() for _ in self._outputs]

    def get_input_epdevices(self) -> list[OrtEpDevice]:
        return [OrtEpDevice() for _ in self._inputs]

    def get_provider_graph_assignment_info(self) -> Any:
        raise _errors.NotImplemented("operators are not assigned to providers; colonnade.Session.model.plan() says what runs them")

    def get_tuning_results(self) -> list[Any]:
        return []

    def set_tuning_results(self, results: Any, *, error_on_invalid: bool = False) -> None:
        """Nothing to set: plans are made of the machine's measured rates."""

    def set_ep_dynamic_options(self, options: Mapping[str, str]) -> None:
        """Accepted: the CPU has none."""

    def release_captured_graph(self, graph_annotation_id: int = 0) -> None:
        """Nothing to release: no graph is captured on the CPU."""

    def enable_fallback(self) -> None:
        """Nothing to fall back from: there is one provider."""

    def disable_fallback(self) -> None:
        """Nothing to fall back from: there is one provider."""

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None
    ) -> list[Any]:
        if run_options is not None and not isinstance(run_options, RunOptions):
            raise TypeError(f"expected RunOptions, found {type(run_options).__name__}")
        if output_names.__class__ not in _PLAIN_NAMES:
            output_names = _names_of(output_names)
        for value in input_feed.values():  # what is no dict is an AttributeError
            if isinstance(value, _NO_ARRAYS):
                raise RuntimeError(f"Unable to handle object of type {type(value)}")
        try:
            if run_options is None:
                return self._run(input_feed, output_names or None)
            _check_severity(run_options.log_severity_level)
            results = self._run(input_feed, output_names or None, stop=run_options._stop)
        except ColonnadeError as error:
            return self._explain(error, output_names, input_feed, run_options)
        if run_options._entries.get(_SHRINK):
            self._session.shrink()
        return results

    def _require(self, feeds: Mapping[str, Any]) -> None:
        given = list(feeds.keys())
        missing = [arg.name for arg in self._inputs if arg.name not in given and not arg.type.startswith("optional")]
        if missing:
            raise ValueError(f"Required inputs ({missing}) are missing from input feed ({given}).") from None

    def _explain(self, error: ColonnadeError, names: Any, feeds: Mapping[str, Any], options: Any) -> list[Any]:
        """Raises what ONNX Runtime would have, or runs with arrays where lists were given, which it takes as well."""
        self._require(feeds)
        if not isinstance(error, (InvalidArgument, InvalidInput)):
            raise _errors.translated(error) from None
        if any(isinstance(name, bytes) for name in names or ()):
            return self.run([name.decode() if isinstance(name, bytes) else name for name in names], feeds, options)
        if not all(isinstance(name, str) for name in names or ()):
            raise TypeError(f"names of outputs: expected str, found {names}") from None
        defaults = {arg.name for arg in self._overridable}
        if any(feeds[name] is None for name in defaults if name in feeds):
            return self.run(names, {n: v for n, v in feeds.items() if v is not None or n not in defaults}, options)
        if any(value is None for value in feeds.values()):
            raise _errors.Fail(str(error)) from None
        if any(isinstance(feeds.get(name), list) for name in defaults):
            raise RuntimeError(f"Failed to find input with name: {min(defaults)} in the model input def list") from None
        overridden = frozenset(arg.name for arg in self._overridable if arg.name in feeds)
        if overridden:
            return self._run_overridden(overridden, names, feeds, options)
        arrays = dict(feeds)
        for info in self._session.model.inputs:
            value = feeds.get(info.name)
            if info.containers and isinstance(value, list) and len({getattr(v, "dtype", None) for v in value}) > 1:
                raise RuntimeError(f"input '{info.name}': the tensors of a sequence have one type") from None
            if info.containers or value is None:
                continue
            if isinstance(value, numpy.ndarray):
                if value.dtype.kind in "cmM":
                    raise RuntimeError(f"input '{info.name}': there are no tensors of {value.dtype}") from None
                if info.dtype == "string" and value.dtype == object and not all(isinstance(text, str) for text in value.flat):
                    arrays[info.name] = numpy.array([str(text) for text in value.flat], object).reshape(value.shape)
            elif isinstance(value, OrtValue):
                arrays[info.name] = value.numpy()
            elif isinstance(value, list):
                arrays[info.name] = _array_of(value, info)
            elif not hasattr(value, "__array_interface__"):
                raise RuntimeError(
                    f"Input must be a list of dictionaries or a single numpy array for input '{info.name}'."
                ) from None
        if all(arrays[name] is feeds[name] for name in feeds):
            raise _errors.translated(error) from None
        return self.run(names, arrays, options)

    def _run_overridden(self, overridden: frozenset[str], names: Any, feeds: Mapping[str, Any], options: Any) -> list[Any]:
        """By a session of the model in which these initializers are inputs, made when they are given first."""
        if overridden not in self._others:
            self._others[overridden] = self._engine_session(overridden)
        keywords = {} if options is None else {"stop": options._stop}
        try:
            return self._others[overridden].run_list(feeds, names or None, **keywords)
        except ColonnadeError as error:
            raise _errors.translated(error) from None

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Calls `callback(results, user_data, message)` from another thread; the message is empty when all is well."""
        self._require(input_feed)
        if callback is not None and not callable(callback):
            raise TypeError(f"callback: expected a callable, found {type(callback).__name__}")
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

    def run_with_ortvaluevector(
        self,
        run_options: RunOptions | None,
        feed_names: Sequence[str],
        feeds: Sequence[OrtValue],
        fetch_names: Sequence[str],
        fetches: OrtValueVector,
        fetch_devices: Sequence[OrtDevice],
    ) -> None:
        """Puts the results into `fetches`."""
        fetches[:] = self.run_with_ort_values(fetch_names, dict(zip(feed_names, feeds)), run_options)

    def create_ortvalue_from_shape_and_type(
        self, shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type, device_type, device_id, vendor_id)

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        if iobinding._session is not self:
            raise ValueError("IOBinding must be used with the session that created it.")
        iobinding._run(self._run, {} if run_options is None else {"stop": run_options._stop})

    def get_profiling_start_time_ns(self) -> int:
        return self._profile_start

    def end_profiling(self) -> str:
        """Writes the times of all runs so far and returns the name of the file; "" without profiling."""
        if self._profile is None:
            return ""
        profile, self._profile = self._profile, None
        with profile.lock:
            self._run = self._session.run_list
            self._session.set_profiling(False)
            return profile.write(self._options.profile_file_prefix)


class InferenceSession(Session):
    """onnxruntime.InferenceSession, run by Colonnade. Threads may share it: their runs go on at the same time."""

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str],
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        source = _source_of(path_or_bytes)
        iter(providers or ())
        try:
            check_providers(providers, provider_options)
        except ValueError as error:  # ONNX Runtime falls back to the CPU as well
            warnings.warn(f"{error} The CPU is used.", stacklevel=2)
        super().__init__(source, SessionOptions() if sess_options is None else sess_options)


class StateSession(Session):
    """InferenceSession of ONNX Runtime's extension module."""

    def __init__(
        self, options: SessionOptions, path_or_bytes: str | bytes, is_path: bool = True, read_config_from_model: bool = False
    ) -> None:
        super().__init__(_source_of(path_or_bytes), options)

    def initialize_session(self, *arguments: Any) -> None:
        """Nothing to do: it is."""

    inputs_meta = property(Session.get_inputs)
    outputs_meta = property(Session.get_outputs)
    overridable_initializers = property(Session.get_overridable_initializers)
    model_meta = property(Session.get_modelmeta)
    session_options = property(Session.get_session_options)
    input_meminfos = property(Session.get_input_memory_infos)
    output_meminfos = property(Session.get_output_memory_infos)
    input_epdevices = property(Session.get_input_epdevices)
    get_profiling_start_time_ns = property(Session.get_profiling_start_time_ns)

    def create_ortvalue_from_shape_and_onnx_type(self, shape: Sequence[int], element_type: int, device: Any = None) -> OrtValue:
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type)
