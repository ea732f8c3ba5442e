# SPDX-License-Identifier: Apache-2.0
"""Lists of providers as programs give them."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ._devices import PROVIDER

PROVIDERS = ("AzureExecutionProvider", PROVIDER)  # those that a build of ONNX Runtime for CPUs has


def check_providers(providers: Any, options: Any = None, stacklevel: int = 4) -> None:
    """Providers as names or as pairs of name and options, or names with a list of options beside it. Those that there
    are not are warned of, and the CPU is used: as ONNX Runtime does. Its options (an arena's) have no effect."""
    if providers is None:
        return
    if not isinstance(providers, Sequence):
        raise ValueError("'providers' should be a sequence.")
    if options is not None:
        _check_options(providers, options)
    names = []
    for provider in providers:
        is_pair = isinstance(provider, tuple) and len(provider) == 2 and isinstance(provider[1], dict)
        name = provider[0] if is_pair and options is None else provider
        if not isinstance(name, str):
            raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
        if name != PROVIDER:
            warnings.warn(
                f"Specified provider '{name}' is not in available provider names. Available providers: '{PROVIDER}'",
                stacklevel=stacklevel,
            )
        elif name in names:
            warnings.warn(f"Duplicate provider '{name}' encountered, ignoring.", stacklevel=stacklevel)
        names.append(name)


def _check_options(providers: Sequence[Any], options: Any) -> None:
    if not isinstance(options, Sequence):
        raise ValueError("'provider_options' should be a sequence.")
    if len(providers) != len(options):
        raise ValueError("'providers' and 'provider_options' should be the same length if both are given.")
    if not all(isinstance(provider, str) for provider in providers):
        raise ValueError("Only string values for 'providers' are supported if 'provider_options' is given.")
    if not all(isinstance(entry, dict) for entry in options):
        raise ValueError("'provider_options' values must be dicts.")


def check_and_normalize_provider_args(
    providers: Any, provider_options: Any, available_provider_names: Sequence[str]
) -> tuple[list[str], list[dict[str, str]]]:
    """The providers that are left, and their options."""
    check_providers(providers, provider_options)
    return [PROVIDER], [{}]
