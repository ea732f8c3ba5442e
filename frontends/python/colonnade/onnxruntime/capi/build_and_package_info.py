# SPDX-License-Identifier: Apache-2.0
from .._version import VERSION

package_name = "onnxruntime"
__version__ = VERSION
