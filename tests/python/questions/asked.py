# SPDX-License-Identifier: Apache-2.0
"""What questions of misuse are made of. A question is asked of a module `m`: ONNX Runtime's or Colonnade's."""
import contextlib
import io
import os
import re
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

FOLDER = tempfile.mkdtemp()
KEPT = []  # sessions of ONNX Runtime read what their options were given, and do not keep it
ZEROS = np.zeros((2, 3), np.float32)


def node(op, inputs=("x",), outputs=("y",), **attributes):
    return helper.make_node(op, list(inputs), [outputs] if isinstance(outputs, str) else list(outputs), **attributes)


def proto(nodes, inputs=(("x", T.FLOAT, [2]),), outputs=(("y", T.FLOAT, None),), weights=(), opset=17, ir=9, domain=None):
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])

    def infos(values):
        return [helper.make_tensor_value_info(*value) if isinstance(value, tuple) else value for value in values]

    graph = helper.make_graph(nodes, "g", infos(inputs), infos(outputs), list(weights))
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir)


def model(*arguments, **keywords):
    return proto(*arguments, **keywords).SerializeToString()


def weight(name="w", **fields):
    return onnx.TensorProto(**{"name": name, "data_type": T.FLOAT, "dims": [2], **fields})


def external(**entries):
    """Adds an initializer of two floats whose elements are elsewhere."""
    data = [onnx.StringStringEntryProto(key=key, value=value) for key, value in entries.items()]
    return model([node("Add", ("x", "w"))], weights=[weight(data_location=T.EXTERNAL, external_data=data)])


NEG = model([node("Neg")], [("x", T.FLOAT, [2, 3])], [("y", T.FLOAT, [2, 3])])
OPEN = model([node("Neg")], [("x", T.FLOAT, ["n", 3])], [("y", T.FLOAT, ["n", 3])])


def file(name, content):
    path = os.path.join(FOLDER, name)
    with open(path, "wb") as target:
        target.write(content)
    return path


def load(m, source=NEG, options=None):
    return m.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def run(m, feeds, names=None, source=NEG, options=None):
    return load(m, source).run(names, feeds, options)


def options(m, **values):
    made = m.SessionOptions()
    for name, value in values.items():
        setattr(made, name, value)
    return made


def changed(m, change, source=NEG):
    """A session of options that `change` was asked to change."""
    made = m.SessionOptions()
    change(made)
    return load(m, source, made)


def bound(m, work, source=NEG):
    session = load(m, source)
    return work(session, session.io_binding())


def value(m, array=ZEROS, *device):
    KEPT.append(m.OrtValue.ortvalue_from_numpy(array, *device))
    return KEPT[-1]


def answer(question, m):
    """The class of what is raised, or what is answered."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            found = question(m)
        return re.sub(r"<.* object at 0x\w+>", "an object", repr(found))
    except Exception as error:
        return type(error).__name__
