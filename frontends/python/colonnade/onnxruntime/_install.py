# SPDX-License-Identifier: Apache-2.0
"""The name `onnxruntime` for this package: an import hook, so that programs need no other import line."""
from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import pathlib
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType

from ._version import VERSION

NAME = "onnxruntime"
_OURS = __name__.rpartition(".")[0]
# Parts of the real package that are Python alone: they are used where it is installed, and run their models here.
_PURE = ("backend", "datasets", "quantization", "tools", "transformers")


class _Distribution(importlib.metadata.Distribution):
    def read_text(self, filename: str) -> str | None:
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\nSummary: ONNX Runtime's interface, run by Colonnade\n"

    def locate_file(self, path: object) -> pathlib.Path:
        return pathlib.Path(__file__).parents[2] / str(path)


class _Loader(importlib.abc.Loader):
    """Loads nothing: the module is there under its own name, which it keeps."""

    def __init__(self, spec: importlib.machinery.ModuleSpec) -> None:
        self._spec = spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return importlib.import_module(self._spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.startswith(_OURS + "."):  # `from onnxruntime import quantization` asks by the module's own name
            parts = [NAME, *fullname.removeprefix(_OURS + ".").split(".")]
            real = _installed(parts) if parts[1] in _PURE else None
            return None if real is None else importlib.machinery.ModuleSpec(fullname, _Loader(real), is_package=True)
        parts = fullname.split(".")
        if parts[0] != NAME:
            return None
        if len(parts) > 1 and parts[1] in _PURE:
            return _installed(parts)
        try:
            ours = importlib.util.find_spec(".".join([_OURS, *parts[1:]]))
        except ModuleNotFoundError:
            return None
        if ours is None:
            return None
        is_package = ours.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(fullname, _Loader(ours), origin=ours.origin, is_package=is_package)

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context = importlib.metadata.DistributionFinder.Context()
    ) -> Iterator[importlib.metadata.Distribution]:
        if context.name is None or context.name.lower() == NAME:
            yield _Distribution()


def _installed(parts: Sequence[str]) -> importlib.machinery.ModuleSpec | None:
    """A module of the real package, by its folders."""
    path: Sequence[str] | None = None
    spec = None
    for count in range(1, len(parts) + 1):
        spec = importlib.machinery.PathFinder.find_spec(".".join(parts[:count]), path)
        if spec is None:
            return None
        path = spec.submodule_search_locations or []
    return spec


def install() -> None:
    """From now on `import onnxruntime` gives this package, in every module of the process. Call it before anything
    imports the real one. Processes that are started anew call it themselves."""
    there = sys.modules.get(NAME)
    if there is not None and there is not sys.modules[_OURS]:
        raise RuntimeError(f"{NAME} was imported already, from {getattr(there, '__file__', 'elsewhere')}: call install() before")
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    importlib.import_module(NAME)
