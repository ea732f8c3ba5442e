# SPDX-License-Identifier: Apache-2.0
"""What the clients send."""

import numpy as np

from clients_test import echo_model  # noqa: F401: models that clients send along

EXAMPLES = {
    "FP32": np.array([[1.5, -2], [3e38, 0]], np.float32),
    "FP64": np.array([[1.5, -2]], np.float64),
    "FP16": np.array([[1.5, -2]], np.float16),
    "BF16": np.array([[1.5, -2], [0, 3]], np.float32),
    "INT8": np.array([[-128, 127]], np.int8),
    "INT16": np.array([[-3, 4]], np.int16),
    "INT32": np.array([[-3, 4], [5, 6]], np.int32),
    "INT64": np.array([[-(2**62), 4]], np.int64),
    "UINT8": np.array([[0, 255]], np.uint8),
    "UINT16": np.array([[0, 65535]], np.uint16),
    "UINT32": np.array([[0, 2**32 - 1]], np.uint32),
    "UINT64": np.array([[0, 2**63]], np.uint64),
    "BOOL": np.array([[True, False]], bool),
    "BYTES": np.array([[b"text", b""], [b"\xc3\xa4", b"longer text"]], object),
}

# perf_analyzer reads them all.
EXPECTED_STATISTICS = {"name", "version", "last_inference", "inference_count", "execution_count", "inference_stats",
                       "batch_stats"}
