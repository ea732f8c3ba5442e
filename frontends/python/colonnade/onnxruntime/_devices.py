# SPDX-License-Identifier: Apache-2.0
"""Devices and memory as ONNX Runtime describes them: there is the CPU."""
from __future__ import annotations

import dataclasses
from typing import Any

from ._enums import (
    OrtAllocatorType,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtHardwareDeviceType,
    OrtMemoryInfoDeviceType,
    OrtMemType,
)
from ._version import VERSION

PROVIDER = "CPUExecutionProvider"
DEVICES = ("cann", "cpu", "cuda", "dml", "gpu", "npu", "webgpu")  # that ONNX Runtime knows by name


def check_device(device_type: str) -> None:
    if device_type.lower() not in DEVICES:
        raise Exception(f"Unsupported device type: {device_type}")
    if device_type.lower() != "cpu":
        raise RuntimeError(f"there is no device '{device_type}'; tensors lie in the memory of the CPU")


class OrtDevice:
    """The CPU."""

    def __init__(self, c_ort_device: Any = None, *numbers: int) -> None:
        """Of another one, or of the kinds of device and memory as numbers, where 0 is the CPU."""
        if isinstance(c_ort_device, int) and c_ort_device != 0:
            raise RuntimeError(f"there is no device of the kind {c_ort_device}; tensors lie in the memory of the CPU")

    @staticmethod
    def make(ort_device_name: str, device_id: int = 0, vendor_id: int = -1) -> OrtDevice:
        check_device(ort_device_name)
        return OrtDevice()

    @staticmethod
    def cpu() -> int:
        return 0

    @staticmethod
    def default_memory() -> int:
        return 0

    def device_type(self) -> str:
        return "cpu"

    def device_id(self) -> int:
        return 0

    def device_vendor_id(self) -> int:
        return 0

    def device_mem_type(self) -> int:
        return 0

    def mem_type(self) -> int:
        return 0

    def vendor_id(self) -> int:
        return 0


@dataclasses.dataclass
class OrtMemoryInfo:
    name: str = "Cpu"
    allocator_type: OrtAllocatorType = OrtAllocatorType.ORT_DEVICE_ALLOCATOR
    device_id: int = 0
    mem_type: OrtMemType = OrtMemType.DEFAULT
    device_mem_type: OrtDeviceMemoryType = OrtDeviceMemoryType.DEFAULT
    device_vendor_id: int = 0

    @staticmethod
    def create_v2(
        name: str,
        device_type: OrtMemoryInfoDeviceType,
        vendor_id: int,
        device_id: int,
        device_mem_type: OrtDeviceMemoryType,
        alignment: int,
        allocator_type: OrtAllocatorType,
    ) -> OrtMemoryInfo:
        if device_type != OrtMemoryInfoDeviceType.CPU:
            check_device(device_type.name)
        return OrtMemoryInfo(name, allocator_type, device_id, OrtMemType.DEFAULT, device_mem_type, vendor_id)


class OrtArenaCfg:
    """Kept and without effect: a plan has one block of memory of the size that it needs."""

    def __init__(
        self,
        max_mem: int | dict[str, int] = 0,
        arena_extend_strategy: int = -1,
        initial_chunk_size_bytes: int = -1,
        max_dead_bytes_per_chunk: int = -1,
    ) -> None:
        given = max_mem if isinstance(max_mem, dict) else {}
        self.max_mem = given.get("max_mem", 0) if isinstance(max_mem, dict) else max_mem
        self.arena_extend_strategy = given.get("arena_extend_strategy", arena_extend_strategy)
        self.initial_chunk_size_bytes = given.get("initial_chunk_size_bytes", initial_chunk_size_bytes)
        self.max_dead_bytes_per_chunk = given.get("max_dead_bytes_per_chunk", max_dead_bytes_per_chunk)
        self.initial_growth_chunk_size_bytes = given.get("initial_growth_chunk_size_bytes", -1)
        self.max_power_of_two_extend_bytes = given.get("max_power_of_two_extend_bytes", -1)


@dataclasses.dataclass(frozen=True)
class OrtHardwareDevice:
    type: OrtHardwareDeviceType = OrtHardwareDeviceType.CPU
    vendor_id: int = 0
    vendor: str = ""
    device_id: int = 0
    metadata: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class OrtEpDevice:
    ep_name: str = PROVIDER
    ep_vendor: str = "Colonnade"
    ep_metadata: dict[str, str] = dataclasses.field(default_factory=lambda: {"version": VERSION})
    ep_options: dict[str, str] = dataclasses.field(default_factory=dict)
    device: OrtHardwareDevice = OrtHardwareDevice()

    def memory_info(self, memory_type: OrtDeviceMemoryType = OrtDeviceMemoryType.DEFAULT) -> OrtMemoryInfo:
        return OrtMemoryInfo()

    def create_sync_stream(self) -> Any:
        from . import _refused

        return _refused.OrtSyncStream()  # type: ignore[attr-defined]


def get_ep_devices() -> list[OrtEpDevice]:
    return [OrtEpDevice()]


def get_hardware_devices() -> list[OrtHardwareDevice]:
    return [OrtHardwareDevice()]


__all__ = [
    "OrtArenaCfg",
    "OrtDevice",
    "OrtDeviceVendorId",
    "OrtEpDevice",
    "OrtHardwareDevice",
    "OrtMemoryInfo",
    "get_ep_devices",
    "get_hardware_devices",
]
