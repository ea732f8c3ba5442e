# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import ColonnadeError
from . import _types
from ._devices import DEVICES, check_device
from ._errors import NotImplemented

if TYPE_CHECKING:
    from ._session import Session


class _Capsule:
    """A DLPack capsule as what numpy takes."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **arguments: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def _numbers(array: np.ndarray) -> np.ndarray:
    """What values are made of. Raises RuntimeError for texts, objects and dates."""
    if array.dtype.kind not in "biufcV":
        raise RuntimeError(f"values are made of arrays of numbers, found one of {array.dtype}")
    _types.checked(array.dtype)
    return array


class OrtValue:
    """A tensor in an array of numpy that it shares with whoever made it, or a sequence or map."""

    def __init__(self, ortvalue: Any, numpy_obj: np.ndarray | None = None, session: Any = None) -> None:
        self._value: Any = ortvalue._value if isinstance(ortvalue, OrtValue) else ortvalue

    @classmethod
    def ortvalue_from_numpy(
        cls, numpy_obj: np.ndarray, /, device_type: Any = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        check_device(device_type if isinstance(device_type, str) else "cpu")
        if not isinstance(numpy_obj, np.ndarray):
            raise RuntimeError(f"expected an array of numpy, found {type(numpy_obj).__name__}")
        return cls(_numbers(numpy_obj))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: np.ndarray, /, onnx_element_type: int) -> OrtValue:
        dtype = _types.dtype_of(onnx_element_type)
        if dtype.itemsize != data.dtype.itemsize:
            raise RuntimeError(f"elements of {data.dtype.itemsize} bytes cannot be taken for {dtype}")
        return cls(data.view(dtype))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: Any,
        device_type: Any = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
        memory_info: Any = None,
    ) -> OrtValue:
        check_device(device_type if isinstance(device_type, str) else "cpu")
        if any(size < 0 for size in shape):
            raise RuntimeError(f"a tensor's shape has no negative sizes, found {list(shape)}")
        try:
            return cls(_numbers(np.empty(tuple(shape), _types.dtype_of(element_type))))
        except ValueError as error:  # it is too large
            raise RuntimeError(str(error)) from None

    @classmethod
    def ortvalue_from_shape_and_onnx_type(cls, shape: Sequence[int], element_type: int, device: Any = None) -> OrtValue:
        return cls.ortvalue_from_shape_and_type(shape, element_type)

    ortvalue_from_shape_and_type_for_memory_info = ortvalue_from_shape_and_onnx_type
    ortvalue_from_shape_and_onnx_type_for_memory_info = ortvalue_from_shape_and_onnx_type

    @classmethod
    def from_dlpack(cls, data: Any, /, is_bool_tensor: bool = False) -> OrtValue:
        """Of what has __dlpack__, or of its capsule. Shares the memory."""
        if not hasattr(data, "__dlpack__") and type(data).__name__ != "PyCapsule":
            raise TypeError(f"expected a capsule of DLPack, found {type(data).__name__}")
        array = np.from_dlpack(data if hasattr(data, "__dlpack__") else _Capsule(data))
        return cls(array.view(np.bool_) if is_bool_tensor else array)

    @staticmethod
    def ort_value_from_sparse_tensor(sparse_tensor: Any) -> OrtValue:
        raise NotImplemented("sparse tensors are not supported")

    def as_sparse_tensor(self) -> Any:
        raise RuntimeError("the value is no sparse tensor")

    def to_dlpack(self) -> Any:
        return self.__dlpack__()

    def __dlpack__(self, *, stream: Any = None, **arguments: Any) -> Any:
        return self._array().__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array().__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self._array().copy() if copy and dtype is None else np.asarray(self._array(), dtype)

    def _array(self) -> np.ndarray:
        if not isinstance(self._value, np.ndarray):
            raise RuntimeError("the value is no tensor")
        return self._value

    @property
    def _ortvalue(self) -> OrtValue:
        return self

    def _get_c_value(self) -> OrtValue:
        return self

    def numpy(self) -> Any:
        return self._value

    def data_ptr(self) -> int:
        return self._array().ctypes.data

    def device_name(self) -> str:
        return "cpu"

    def shape(self) -> list[int]:
        return list(self._array().shape)

    def data_type(self) -> str:
        if isinstance(self._value, np.ndarray):
            return _types.tensor_type(_types.name_of(self._value))
        inner = self._value[0] if isinstance(self._value, list) and self._value else None
        return f"seq({OrtValue(inner).data_type()})" if isinstance(inner, np.ndarray) else "seq()"

    def element_type(self) -> int:
        return _types.NUMBERS[_types.name_of(self._array())]

    def has_value(self) -> bool:
        return self._value is not None

    def is_tensor(self) -> bool:
        return isinstance(self._value, np.ndarray)

    def is_sparse_tensor(self) -> bool:
        return False

    def is_tensor_sequence(self) -> bool:
        return isinstance(self._value, list)

    def tensor_size_in_bytes(self) -> int:
        return self._array().nbytes

    def update_inplace(self, data: Any) -> None:
        if not isinstance(data, (np.ndarray, OrtValue)):
            raise TypeError("data must be a numpy.ndarray or an OrtValue.")
        array = data._array() if isinstance(data, OrtValue) else data
        if array.shape != self._array().shape or array.dtype != self._array().dtype:
            raise RuntimeError(f"expected {self._array().dtype} {self._array().shape}, found {array.dtype} {array.shape}")
        np.copyto(self._array(), array)


class OrtValueVector(list):  # type: ignore[type-arg]
    """OrtValues in a row."""

    def push_back(self, value: Any, is_bool_tensor: bool = False) -> None:
        """An OrtValue, or a tensor by DLPack."""
        self.append(value if isinstance(value, OrtValue) else OrtValue.from_dlpack(value, is_bool_tensor))

    def push_back_batch(
        self, tensors: Sequence[Any], data_ptrs: Sequence[int], element_types: Sequence[Any], shapes: Sequence[Any], devices: Any
    ) -> None:
        """Of the memory of tensors, which the values keep alive."""
        for tensor, address, element_type, shape in zip(tensors, data_ptrs, element_types, shapes):
            value = OrtValue(array_at(address, element_type, shape))
            value._owner = tensor  # type: ignore[attr-defined]
            self.append(value)

    def reserve(self, count: int) -> None:
        """Nothing to do."""

    def shrink_to_fit(self) -> None:
        """Nothing to do."""

    def element_type_at(self, index: int) -> Any:
        return self[index].element_type()

    def dlpack_at(self, index: int) -> Any:
        return self[index].to_dlpack()

    def to_dlpacks(self, to_tensor: Any = None) -> list[Any]:
        capsules = [value.to_dlpack() for value in self]
        return capsules if to_tensor is None else [to_tensor(capsule) for capsule in capsules]


def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: Any = None) -> None:
    for source, target in zip(src, dst, strict=True):
        target.update_inplace(source)


def array_at(address: int, element_type: Any, shape: Sequence[int]) -> np.ndarray:
    dtype = _types.dtype_of(element_type)
    if dtype.kind in "OUST" or any(size < 0 for size in shape):
        raise RuntimeError(f"memory holds no tensor of {dtype} {list(shape)}")
    memory = memoryview((ctypes.c_uint8 * (math.prod(shape) * dtype.itemsize)).from_address(address))
    return np.asarray(memory).view(dtype).reshape(tuple(shape))


class IOBinding:
    """Inputs and outputs of a session that stay where they are from run to run."""

    def __init__(self, session: Session) -> None:
        session._sess  # what is no session is an AttributeError
        self._session = session
        self._device = "cpu"
        self._feeds: dict[str, Any] = {}
        self._out: dict[str, np.ndarray | None] = {}  # None: a new array at each run
        self._results: list[Any] = []

    @property
    def _iobinding(self) -> IOBinding:
        return self

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        if not isinstance(name, str):
            raise TypeError(f"names of inputs: expected str, found {name!r}")
        if all(arg.name != name for arg in self._session.get_inputs()):
            raise RuntimeError(f"Failed to find NodeArg with name: {name} in the def list")
        if isinstance(arr_on_cpu, (list, tuple, OrtValue)) and not self._session._is_container(name):
            raise RuntimeError(f"input '{name}': expected an array, found {type(arr_on_cpu).__name__}")
        self._feeds[name] = arr_on_cpu

    def bind_input(
        self, name: str, device_type: Any, device_id: int = 0, element_type: Any = None, shape: Sequence[int] = (), buffer_ptr: int = 0
    ) -> None:
        check_device(device_type if isinstance(device_type, str) else "cpu")
        self.bind_cpu_input(name, array_at(buffer_ptr, element_type, shape))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        self.bind_cpu_input(name, ortvalue.numpy())

    def bind_output(
        self,
        name: str,
        device_type: Any = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        device = device_type if isinstance(device_type, str) else "cpu"
        if not isinstance(name, str):
            raise TypeError(f"names of outputs: expected str, found {name!r}")
        if device not in DEVICES or buffer_ptr is not None:
            check_device(device)
        if buffer_ptr is None:
            self._out[name], self._device = None, device
        elif element_type is None or shape is None:
            raise ValueError("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
        else:
            self._out[name] = array_at(buffer_ptr, element_type, shape)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        self._out[name] = ortvalue._array()

    def synchronize_inputs(self) -> None:
        """Nothing to wait for: all memory is the CPU's."""

    def synchronize_outputs(self) -> None:
        """Nothing to wait for: all memory is the CPU's."""

    def get_outputs(self) -> list[OrtValue]:
        return [OrtValue(result) for result in self._results]

    def get_outputs_as_ortvaluevector(self) -> OrtValueVector:
        return OrtValueVector(self.get_outputs())

    def copy_outputs_to_cpu(self) -> list[Any]:
        return [result.copy() if isinstance(result, np.ndarray) else result for result in self._results]

    def clear_binding_inputs(self) -> None:
        self._feeds.clear()

    def clear_binding_outputs(self) -> None:
        self._out.clear()
        self._results, self._device = [], "cpu"

    def _run(self, run: Any, options: dict[str, Any]) -> None:
        check_device(self._device)
        if not self._out:
            raise RuntimeError("Error in execution: At least one output should be requested.")
        given = {name: array for name, array in self._out.items() if array is not None}
        try:
            self._results = run(self._feeds, list(self._out), out=given or None, **options)
        except ColonnadeError as error:
            raise RuntimeError(f"Error in execution: {error}") from None
