# SPDX-License-Identifier: Apache-2.0
"""One operator at sizes of real networks: a model of one node, and what it is fed."""
from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPSET, ML_OPSET = 21, 3
IR_VERSION = 10
ML, MICROSOFT = "ai.onnx.ml", "com.microsoft"

# Largest difference over the largest |value|, by element type; integers and all else agree exactly.
TOLERANCES = {"float16": 4e-3, "float32": 1e-4, "float64": 1e-6}


@dataclass(frozen=True)
class Value:
    """An input: how its elements come of a seeded generator, and whether the model holds it as a constant."""

    make: Callable[[np.random.Generator], Any]
    constant: bool = False


@dataclass(frozen=True)
class Case:
    """A node. Inputs are values, or None for those left out; `error` is what outputs of either engine may differ by."""

    operator: str
    form: str
    inputs: Sequence[Value | None]
    domain: str = ""
    opset: int = OPSET
    outputs: Sequence[str] = ("y0",)
    error: float = 0.0
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        prefix = f"{self.domain}::" if self.domain else ""
        return f"{prefix}{self.operator} {self.form}"

    def values(self) -> list[Any]:
        """The elements of the inputs, by place; the same ones whenever they are made."""
        seed = int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:4], "little")
        generator = np.random.default_rng(seed)
        return [None if value is None else value.make(generator) for value in self.inputs]

    def feeds(self) -> dict[str, Any]:
        return {f"x{i}": made for i, (value, made) in enumerate(zip(self.inputs, self.values()))
                if value is not None and not value.constant}

    def model(self) -> bytes:
        names, infos, constants = [], [], []
        for i, (value, made) in enumerate(zip(self.inputs, self.values())):
            names.append("" if value is None else f"x{i}")
            if value is not None and value.constant:
                constants.append(numpy_helper.from_array(np.asarray(made), f"x{i}"))
            elif value is not None:
                infos.append(info_of(f"x{i}", made))
        node = helper.make_node(self.operator, names, list(self.outputs), domain=self.domain, **self.attributes)
        outputs = [onnx.ValueInfoProto(name=name) for name in self.outputs if name]
        opsets = [helper.make_opsetid("", self.opset if self.domain == "" else OPSET)]
        if self.domain:
            opsets.append(helper.make_opsetid(self.domain, self.opset))
        graph = helper.make_graph([node], "cliff", infos, outputs, constants)
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION).SerializeToString()


def info_of(name: str, made: Any) -> onnx.ValueInfoProto:
    """The type of an input: a tensor, a sequence of them or a map."""
    return helper.make_value_info(name, type_of(made))


def type_of(made: Any) -> onnx.TypeProto:
    if isinstance(made, list):
        return helper.make_sequence_type_proto(type_of(made[0]))
    if isinstance(made, dict):
        key, value = next(iter(made.items()))
        return helper.make_map_type_proto(element_type(np.asarray(key)), type_of(np.asarray(value, np.float32)))
    return helper.make_tensor_type_proto(element_type(made), made.shape)


def element_type(array: np.ndarray) -> int:
    return onnx.TensorProto.STRING if array.dtype.kind in "OU" else helper.np_dtype_to_tensor_dtype(array.dtype)


def case(operator: str, form: str, *inputs: Value | None, domain: str = "", opset: int = 0, outputs: int | Sequence[str] = 1,
         error: float = 0.0, **attributes: Any) -> Case:
    """A case; `outputs` is how many the node has, or their names, empty ones for those left out."""
    opset = opset or {"": OPSET, ML: ML_OPSET}.get(domain, 1)
    names = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
    return Case(operator, form, inputs, domain, opset, names, error, attributes)


def x(*shape: int, low: float = -1.0, high: float = 1.0, dtype: str = "float32") -> Value:
    """Computed numbers, uniform in [low, high)."""
    return Value(lambda generator: generator.uniform(low, high, shape).astype(dtype))


def w(*shape: int, low: float = -0.1, high: float = 0.1, dtype: str = "float32") -> Value:
    """Constant numbers."""
    return Value(x(*shape, low=low, high=high, dtype=dtype).make, constant=True)


def integers(*shape: int, low: int = 0, high: int = 10, dtype: str = "int64", constant: bool = False) -> Value:
    """Integers in [low, high)."""
    return Value(lambda generator: generator.integers(low, high, shape).astype(dtype), constant)


def bits(*shape: int, share: float = 0.5) -> Value:
    """Booleans, this share of them true."""
    return Value(lambda generator: generator.random(shape) < share)


def known(elements: Any, dtype: str = "int64") -> Value:
    """A constant of these elements."""
    return Value(lambda _: np.array(elements, dtype), constant=True)


def given(elements: Any, dtype: str = "int64") -> Value:
    """An input of these elements."""
    return Value(lambda _: np.array(elements, dtype))


def made(make: Callable[[np.random.Generator], Any], constant: bool = False) -> Value:
    """What a function makes of the generator."""
    return Value(make, constant)
