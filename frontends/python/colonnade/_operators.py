# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any, Protocol


class CustomOperator(Protocol):
    """What `operators=` of Model and Session takes: an operator of the program's own, for the nodes of this domain and
    name. It may have `infer(node, types)` too, which gives a list of (type, shape), as `types` is one: a name or a dtype;
    a tuple, in which None is an open dimension, or None. Without it outputs are of the first input's type. `node` has
    name, domain, type, opset, inputs, outputs, attributes and constants. Several threads may call it."""

    @property
    def domain(self) -> str: ...

    @property
    def name(self) -> str: ...

    def compute(self, node: Any, *inputs: Any) -> Any:
        """The output, or a tuple of all, of arrays; None is an input that is left out. What it raises ends the run."""
