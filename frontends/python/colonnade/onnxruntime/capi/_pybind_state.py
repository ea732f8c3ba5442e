# SPDX-License-Identifier: Apache-2.0
from .onnxruntime_pybind11_state import *  # noqa: F403
