# SPDX-License-Identifier: Apache-2.0
"""What of ONNX Runtime's interface is refused: the names are there to be imported, their use raises NotImplemented."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._errors import NotImplemented

_SPARSE = "sparse tensors are not supported"
_ADAPTERS = "adapters (LoRA) are not supported"
_COMPILE = "models are not compiled for providers; the configuration entry 'colonnade.compiled' names a file for a fast start"
_PACKAGES = "model packages are not supported"
_PROVIDERS = "there is one provider, the CPU, and none can be added"
_SCHEMAS = "there are no lists of ONNX Runtime's operators and kernels"
_QUANTISE = "weights are quantised by ONNX Runtime's own library; quantise with it, and run the model here"

CLASSES = {
    "AdapterFormat": _ADAPTERS,
    "LoraAdapter": _ADAPTERS,
    "ModelCompiler": _COMPILE,
    "ModelPackage": _PACKAGES,
    "ModelPackageComponentContext": _PACKAGES,
    "ModelPackageContext": _PACKAGES,
    "ModelPackageOptions": _PACKAGES,
    "OrtEpAssignedNode": _PROVIDERS,
    "OrtEpAssignedSubgraph": _PROVIDERS,
    "OrtEpContextData": _COMPILE,
    "OrtEpContextDataBuffer": _COMPILE,
    "OrtExternalInitializerInfo": _COMPILE,
    "OrtSyncStream": "the CPU has no streams",
    "SessionObjectInitializer": _PROVIDERS,
    "SparseBlockSparseView": _SPARSE,
    "SparseCooView": _SPARSE,
    "SparseCsrView": _SPARSE,
    "SparseTensor": _SPARSE,
}
FUNCTIONS = {
    "get_all_operator_schema": _SCHEMAS,
    "get_all_opkernel_def": _SCHEMAS,
    "get_compatibility_info_from_model": _COMPILE,
    "get_compatibility_info_from_model_bytes": _COMPILE,
    "get_hardware_device_ep_incompatibility_details": _PROVIDERS,
    "get_model_compatibility_for_ep_devices": _COMPILE,
    "get_registered_ep_kernel_defs": _SCHEMAS,
    "get_session_initializer": _PROVIDERS,
    "pack_fp4_weights_for_cuda_moe_gemm": _QUANTISE,
    "quantize_matmul_2bits": _QUANTISE,
    "quantize_matmul_4bits": _QUANTISE,
    "quantize_matmul_8bits": _QUANTISE,
    "quantize_matmul_bnb4": _QUANTISE,
    "quantize_qdq_matmul_2bits": _QUANTISE,
    "quantize_qdq_matmul_4bits": _QUANTISE,
    "register_execution_provider_library": _PROVIDERS,
    "unregister_execution_provider_library": _PROVIDERS,
}


def refusing(name: str, reason: str) -> Callable[..., Any]:
    def refuse(*arguments: Any, **keywords: Any) -> Any:
        raise NotImplemented(f"{name}: {reason}")

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


class _Refused(type):
    """A class that cannot be made or asked for anything."""

    reason: str

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        raise NotImplemented(f"{cls.__name__}: {cls.reason}")

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return refusing(f"{cls.__name__}.{name}", cls.reason)


globals().update({name: _Refused(name, (), {"reason": reason}) for name, reason in CLASSES.items()})
globals().update({name: refusing(name, reason) for name, reason in FUNCTIONS.items()})
__all__ = [*CLASSES, *FUNCTIONS]
