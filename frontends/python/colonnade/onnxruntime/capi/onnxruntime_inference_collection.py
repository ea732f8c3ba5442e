# SPDX-License-Identifier: Apache-2.0
from .._devices import OrtDevice, OrtDeviceVendorId
from .._refused import AdapterFormat, ModelCompiler, SparseTensor  # type: ignore[attr-defined]
from .._providers import check_and_normalize_provider_args
from .._session import InferenceSession, Session
from .._values import IOBinding, OrtValue, copy_tensors

__all__ = [
    "AdapterFormat",
    "IOBinding",
    "InferenceSession",
    "ModelCompiler",
    "OrtDevice",
    "OrtDeviceVendorId",
    "OrtValue",
    "Session",
    "SparseTensor",
    "check_and_normalize_provider_args",
    "copy_tensors",
]
