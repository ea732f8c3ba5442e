# SPDX-License-Identifier: Apache-2.0
"""What ONNX Runtime's extension module has."""
from .._devices import *  # noqa: F403
from .._enums import *  # noqa: F403
from .._enums import ArenaExtendStrategy
from .._environment import *  # noqa: F403
from .._errors import *  # noqa: F403
from .._options import RunOptions, SessionOptions
from .._refused import *  # noqa: F403
from .._session import ModelMetadata, NodeArg
from .._session import StateSession as InferenceSession
from .._values import IOBinding as SessionIOBinding
from .._values import OrtValue, OrtValueVector, copy_tensors

kNextPowerOfTwo, kSameAsRequested = ArenaExtendStrategy  # noqa: N816
