# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's Python interface, run by Colonnade: for programs that are written for it.

    python -m colonnade.onnxruntime program.py       # as it is
    import colonnade.onnxruntime; colonnade.onnxruntime.install()      # before it is imported
    import colonnade.onnxruntime as onnxruntime      # under another name
"""
from . import _devices, _enums, _environment, _refused, capi
from ._devices import *  # noqa: F403
from ._enums import *  # noqa: F403
from ._environment import *  # noqa: F403
from ._install import install
from ._options import RunOptions, SessionOptions
from ._refused import *  # noqa: F403
from ._session import InferenceSession, ModelMetadata, NodeArg
from ._values import IOBinding, OrtValue, copy_tensors
from ._values import IOBinding as SessionIOBinding
from ._version import VERSION
from .capi import onnxruntime_validation
from .capi.build_and_package_info import package_name

__version__ = version = VERSION
cuda_version = ""


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Nothing to load."""


def print_debug_info() -> None:
    print(get_build_info())  # noqa: F405
    print("providers:", *get_available_providers())  # noqa: F405


__all__ = [
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtValue",
    "RunOptions",
    "SessionIOBinding",
    "SessionOptions",
    "capi",
    "copy_tensors",
    "cuda_version",
    "install",
    "onnxruntime_validation",
    "package_name",
    "preload_dlls",
    "print_debug_info",
    "version",
]
__all__ += _devices.__all__
__all__ += _enums.__all__
__all__ += _environment.__all__
__all__ += _refused.__all__
