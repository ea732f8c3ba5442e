# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import ColonnadeError
from . import _types

if TYPE_CHECKING:
    from ._session import InferenceSession


def _check_device(device_type: str) -> None:
    if device_type.lower() != "cpu":
        raise RuntimeError(f"there is no device '{device_type}'; tensors lie in the memory of the CPU")


class OrtDevice:
    """The CPU."""

    @staticmethod
    def make(ort_device_name: str, device_id: int = 0, vendor_id: int = -1) -> OrtDevice:
        _check_device(ort_device_name)
        return OrtDevice()

    def device_type(self) -> str:
        return "cpu"

    def device_id(self) -> int:
        return 0

    def device_vendor_id(self) -> int:
        return 0


class OrtValue:
    """A tensor in an array of numpy that it shares with whoever made it, or a sequence or map."""

    def __init__(self, value: Any) -> None:
        self._value = value

    @classmethod
    def ortvalue_from_numpy(
        cls, numpy_obj: np.ndarray, /, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        _check_device(device_type)
        if not isinstance(numpy_obj, np.ndarray):
            raise TypeError(f"expected an array of numpy, found {type(numpy_obj).__name__}")
        return cls(numpy_obj)

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: np.ndarray, /, onnx_element_type: int) -> OrtValue:
        dtype = _types.dtype_of(onnx_element_type)
        if dtype.itemsize != data.dtype.itemsize:
            raise ValueError(f"elements of {data.dtype.itemsize} bytes cannot be taken for {dtype}")
        return cls(data.view(dtype))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: Any,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
        memory_info: Any = None,
    ) -> OrtValue:
        _check_device(device_type)
        return cls(np.empty(tuple(shape), _types.dtype_of(element_type)))

    @classmethod
    def from_dlpack(cls, data: Any, /, is_bool_tensor: bool = False) -> OrtValue:
        array = np.from_dlpack(data)
        return cls(array.view(np.bool_) if is_bool_tensor else array)

    def __dlpack__(self, **arguments: Any) -> Any:
        return self._array().__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array().__dlpack_device__()

    def _array(self) -> np.ndarray:
        if not isinstance(self._value, np.ndarray):
            raise RuntimeError("the value is no tensor")
        return self._value

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

    def update_inplace(self, np_arr: np.ndarray) -> None:
        if np_arr.shape != self._array().shape or np_arr.dtype != self._array().dtype:
            raise RuntimeError(f"expected {self._array().dtype} {self._array().shape}, found {np_arr.dtype} {np_arr.shape}")
        np.copyto(self._array(), np_arr)


def _array_at(address: int, element_type: Any, shape: Sequence[int]) -> np.ndarray:
    dtype = _types.dtype_of(element_type)
    memory = memoryview((ctypes.c_uint8 * (math.prod(shape) * dtype.itemsize)).from_address(address))
    return np.asarray(memory).view(dtype).reshape(tuple(shape))


class IOBinding:
    """Inputs and outputs of a session that stay where they are from run to run."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._feeds: dict[str, Any] = {}
        self._out: dict[str, np.ndarray | None] = {}  # None: a new array at each run
        self._results: list[Any] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        if all(arg.name != name for arg in self._session.get_inputs()):
            raise RuntimeError(f"Failed to find NodeArg with name: {name} in the def list")
        self._feeds[name] = arr_on_cpu

    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        _check_device(device_type)
        self.bind_cpu_input(name, _array_at(buffer_ptr, element_type, shape))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        self.bind_cpu_input(name, ortvalue.numpy())

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        _check_device(device_type)
        if buffer_ptr is None:
            self._out[name] = None
        elif element_type is None or shape is None:
            raise ValueError("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
        else:
            self._out[name] = _array_at(buffer_ptr, element_type, shape)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        self._out[name] = ortvalue._array()

    def synchronize_inputs(self) -> None:
        """Nothing to wait for: all memory is the CPU's."""

    def synchronize_outputs(self) -> None:
        """Nothing to wait for: all memory is the CPU's."""

    def get_outputs(self) -> list[OrtValue]:
        return [OrtValue(result) for result in self._results]

    def copy_outputs_to_cpu(self) -> list[Any]:
        return [result.copy() if isinstance(result, np.ndarray) else result for result in self._results]

    def clear_binding_inputs(self) -> None:
        self._feeds.clear()

    def clear_binding_outputs(self) -> None:
        self._out.clear()
        self._results = []

    def _run(self, run: Any, options: dict[str, Any]) -> None:
        if not self._out:
            raise RuntimeError("Error in execution: At least one output should be requested.")
        given = {name: array for name, array in self._out.items() if array is not None}
        try:
            self._results = run(self._feeds, list(self._out), out=given or None, **options)
        except ColonnadeError as error:
            raise RuntimeError(f"Error in execution: {error}") from None
