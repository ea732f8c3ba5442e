# SPDX-License-Identifier: Apache-2.0
from .._options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from .onnxruntime_pybind11_state import *  # noqa: F403
