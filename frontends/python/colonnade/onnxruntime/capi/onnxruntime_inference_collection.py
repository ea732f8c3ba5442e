# SPDX-License-Identifier: Apache-2.0
from .._session import InferenceSession
from .._values import IOBinding, OrtDevice, OrtValue

__all__ = ["IOBinding", "InferenceSession", "OrtDevice", "OrtValue"]
