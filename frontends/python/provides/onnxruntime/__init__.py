# SPDX-License-Identifier: Apache-2.0
"""The module `onnxruntime`: colonnade.onnxruntime by its name."""
import sys

import colonnade.onnxruntime

sys.modules[__name__] = colonnade.onnxruntime
colonnade.onnxruntime.install()
