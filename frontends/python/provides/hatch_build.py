# SPDX-License-Identifier: Apache-2.0
"""Puts the library with ONNX Runtime's C interface where programs look for the real one: `./dev wheel` names it."""
from __future__ import annotations

import os
import pathlib

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Library(BuildHookInterface):
    """Without COLONNADE_ONNXRUNTIME_LIBRARY the package holds Python alone, for any machine."""

    def initialize(self, version: str, build_data: dict) -> None:
        library = os.environ.get("COLONNADE_ONNXRUNTIME_LIBRARY")
        if library:
            build_data["pure_python"] = False
            build_data["tag"] = "py3-none-linux_x86_64"
            build_data["force_include"][library] = f"onnxruntime/capi/{pathlib.Path(library).name}"
