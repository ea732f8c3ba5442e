# SPDX-License-Identifier: Apache-2.0
"""Where Colonnade answers otherwise, and why."""
_EARLY = "found when the model is loaded, where ONNX Runtime finds it in the first run"
_INITIALIZER = "compared with the model's, where ONNX Runtime reads on and fails later, or answers something"
_NAMES = "one value, one name: which of two is meant cannot be said"
_SCALAR = "an input that is declared a scalar is one"
_TEXTS = "texts may be given as bytes; ONNX Runtime takes their Python form"

DIFFERENCES = {
    "models": {
        "an unknown field": "bytes behind a model are taken for damage",
        "a new opset of ml": "an opset that no node asks for is not read",
        "no outputs": "a network without outputs has nothing to compute",
        "an output twice": _NAMES,
        "a size below zero": "-1 is an open size, others are damage",
        "an initializer twice": _NAMES,
        "an initializer without a name": _NAMES,
        "a branch without nodes": "what a branch gives may be a value around it, so the name is looked for there",
        "numbers twice": "which of two data are meant cannot be said",
        "channels that do not fit": _EARLY,
        "a window beyond the picture": _EARLY,
        "a shape of other elements that is known": _EARLY,
        "an index out of range that is known": _EARLY,
    },
    "feeds": {
        "a vector for a scalar": _SCALAR,
        "bytes among objects": _TEXTS,
        "a sequence of numbers": "numbers are taken for tensors without axes",
        "bytes of bfloat16": "bits of types that numpy lacks are taken for them",
    },
    "sessions": {
        "an initializer of another size": _INITIALIZER,
        "an initializer of another type": _INITIALIZER,
    },
    "values": {
        "a value of big ends": "numbers are read as numpy has them; ONNX Runtime takes their bytes the other way round",
        "another type in place": "elements of another type are refused, where ONNX Runtime copies bytes",
        "a value of a value": "there is one class of values, and copies of them share their memory",
    },
}
