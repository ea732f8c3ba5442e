# SPDX-License-Identifier: Apache-2.0
VERSION = "1.32.0"  # of ONNX Runtime, whose interface this is
