#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes schemas.inc: the attributes and the types of inputs of ONNX's operators, by the package onnx."""
import pathlib
import textwrap

import onnx

TARGET = pathlib.Path(__file__).with_name("schemas.inc")
DOMAINS = {"": "", "ai.onnx.ml": "ml."}
CONTAINERS = {"seq": 27, "map": 28, "optional": 29, "sparse_tensor": 30}
WIDTH = 112


def bit(text: str) -> int:
    """Of a type: the number of a tensor's element type, or one for all containers of a kind."""
    kind, _, element = text.rstrip(")").partition("(")
    if kind != "tensor":
        return CONTAINERS[kind]
    names = {"float": "FLOAT", "double": "DOUBLE"}
    return onnx.TensorProto.DataType.Value(names.get(element, element.upper()))


def mask(schema, parameter) -> int:
    allowed = {rule.type_param_str: rule.allowed_type_strs for rule in schema.type_constraints}
    return sum({1 << bit(text) for text in allowed.get(parameter.type_str, [parameter.type_str])})


def written() -> str:
    masks: dict[int, int] = {}
    operators: dict[str, list[str]] = {}
    for schema in sorted(onnx.defs.get_all_schemas_with_history(), key=lambda s: (s.name, s.since_version)):
        if schema.domain not in DOMAINS or schema.deprecated:
            continue
        attributes = " ".join(sorted(schema.attributes))
        types = ",".join(str(masks.setdefault(mask(schema, i), len(masks))) for i in schema.inputs)
        versions = operators.setdefault(DOMAINS[schema.domain] + schema.name, [])
        versions.append(f"{schema.since_version}:{types}:{attributes}")
    lines = ["// SPDX-License-Identifier: Apache-2.0", f"// Written by schemas.py, of ONNX {onnx.__version__}.", "", "constexpr std::uint32_t kMasks[] = {"]
    lines += textwrap.wrap(" ".join(f"{value:#x}," for value in masks), WIDTH, initial_indent="    ", subsequent_indent="    ")
    lines += ["};", "", "constexpr std::string_view kOperators[] = {"]
    for name in sorted(operators):
        text = f"{name}|" + "|".join(operators[name])
        parts = [text[i : i + WIDTH] for i in range(0, len(text), WIDTH)]
        lines += [f'    "{part}"' for part in parts]
        lines[-1] += ","
    return "\n".join([*lines, "};", ""])


if __name__ == "__main__":
    TARGET.write_text(written())
