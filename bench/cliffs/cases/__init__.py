# SPDX-License-Identifier: Apache-2.0
"""The cases, by kind of operator, and the operators that have none."""
from __future__ import annotations

import importlib

from case import Case

KINDS = ("unary", "binary", "typed", "movement", "indexing", "products", "reductions", "norms", "images", "recurrent",
         "quantised", "control", "signal", "learning", "trees", "transformers", "former")

_RANDOM = "random numbers: no two engines draw the same, and neither is timed by what it draws"
_STRINGS = "strings are handled by the reference on purpose"
_LACKED = "no engine beside ours has it"

# Operators without a case, by domain and name, and why.
LEFT_OUT = {
    ("ai.onnx", "Bernoulli"): _RANDOM,
    ("ai.onnx", "Multinomial"): _RANDOM,
    ("ai.onnx", "RandomNormal"): _RANDOM,
    ("ai.onnx", "RandomNormalLike"): _RANDOM,
    ("ai.onnx", "RandomUniform"): _RANDOM,
    ("ai.onnx", "RandomUniformLike"): _RANDOM,
    ("com.microsoft", "SampleOp"): "a sample of how operators are added, in no network",
    ("ai.onnx", "Constant"): "known when a model is loaded",
    ("ai.onnx", "ConstantFill"): _LACKED,
    ("ai.onnx", "RegexFullMatch"): _STRINGS,
    ("ai.onnx", "StringConcat"): _STRINGS,
    ("ai.onnx", "StringNormalizer"): _STRINGS,
    ("ai.onnx", "StringSplit"): _STRINGS,
    ("ai.onnx.preview", "FlexAttention"): _LACKED,
    ("ai.onnx.preview.training", "Adagrad"): _LACKED,
    ("ai.onnx.preview.training", "Adam"): _LACKED,
    ("ai.onnx.preview.training", "Momentum"): _LACKED,
}


def all_cases() -> list[Case]:
    return [case for kind in KINDS for case in importlib.import_module(f"cases.{kind}").CASES]
