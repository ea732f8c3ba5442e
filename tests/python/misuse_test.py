# SPDX-License-Identifier: Apache-2.0
"""Bad use, asked of ONNX Runtime and of Colonnade: the same class of exception, or the same answer. What differs is named
with its reason. Skipped where ONNX Runtime is not installed."""
import contextlib
import io
import os
import tempfile
import unittest
import warnings

import support

support.need("colonnade", "numpy", "onnx", "onnxruntime")

import numpy as np
import onnx
import onnxruntime as theirs
from onnx import TensorProto as T
from onnx import helper

import colonnade.onnxruntime as ours

FOLDER = tempfile.mkdtemp()
ZEROS = np.zeros((2, 3), np.float32)


def node(op, inputs=("x",), output="y", **attributes):
    return helper.make_node(op, list(inputs), [output], **attributes)


def model(nodes, inputs=(("x", T.FLOAT, [2]),), outputs=(("y", T.FLOAT, None),), weights=(), opset=17, ir=9, domain=None):
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(*value) for value in inputs],
        [helper.make_tensor_value_info(*value) for value in outputs],
        list(weights),
    )
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir).SerializeToString()


def weight(**fields):
    return onnx.TensorProto(name="w", data_type=T.FLOAT, dims=[2], **fields)


def outside(place):
    entry = onnx.StringStringEntryProto(key="location", value=place)
    return model([node("Add", ("x", "w"))], weights=[weight(data_location=onnx.TensorProto.EXTERNAL, external_data=[entry])])


NEG = model([node("Neg")], [("x", T.FLOAT, [2, 3])], [("y", T.FLOAT, [2, 3])])
OPEN = model([node("Neg")], [("x", T.FLOAT, ["n", 3])], [("y", T.FLOAT, ["n", 3])])
GATHER = model([node("Gather", ("x", "i"))], [("x", T.FLOAT, [4]), ("i", T.INT64, [2])], [("y", T.FLOAT, [2])])
ADD = model([node("Add", ("a", "b"))], [("a", T.FLOAT, ["n"]), ("b", T.FLOAT, ["m"])], [("y", T.FLOAT, ["k"])])
RESHAPE = model([node("Reshape", ("x", "s"))], [("x", T.FLOAT, [4]), ("s", T.INT64, [1])], [("y", T.FLOAT, ["n"])])
TEXTS = model([node("Identity")], [("x", T.STRING, ["n"])], [("y", T.STRING, ["n"])])


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
    made = m.SessionOptions()
    change(made)
    load(m, source, made)


def bound(m, work):
    session = load(m)
    binding = session.io_binding()
    work(session, binding)


def value(m, array=ZEROS, *device):
    return m.OrtValue.ortvalue_from_numpy(array, *device)


def empty(m, shape, kind):
    return m.OrtValue.ortvalue_from_shape_and_type(shape, kind)


def into(m, array):
    def work(session, binding):
        binding.bind_cpu_input("x", ZEROS)
        binding.bind_ortvalue_output("y", value(m, array))
        session.run_with_iobinding(binding)

    bound(m, work)


def named(m, source, target, array=ZEROS):
    def work(session, binding):
        if source:
            binding.bind_cpu_input(source, array)
        if target:
            binding.bind_output(target)
        session.run_with_iobinding(binding)

    bound(m, work)


def terminated(m):
    stop = m.RunOptions()
    stop.terminate = True
    run(m, {"x": ZEROS}, options=stop)


LOADING = {
    "no file": "/no/such.onnx",
    "a folder": FOLDER,
    "an empty path": "",
    "no bytes": b"",
    "garbage": b"garbage" * 20,
    "a file of garbage": file("garbage.onnx", b"\x08\x07garb"),
    "an empty file": file("empty.onnx", b""),
    "None": None,
    "a number": 5,
    "no graph": onnx.ModelProto(ir_version=8).SerializeToString(),
    "an unknown operator": model([node("Nope")]),
    "an unknown domain": model([node("Nope", domain="no.such")]),
    "an unknown domain that is imported": model([node("Nope", domain="no.such")], domain="no.such"),
    "an undefined input": model([node("Neg", ("q",))]),
    "a cycle": model([node("Add", ("x", "y"), "z"), node("Neg", ("z",))]),
    "two of one name": model([node("Neg"), node("Abs")]),
    "an output that nobody makes": model([node("Neg")], outputs=[("q", T.FLOAT, [2])]),
    "an output of another type": model([node("Neg")], outputs=[("y", T.INT64, [2])]),
    "an input of a wrong type": model([node("Neg")], [("x", T.BOOL, [1])], [("y", T.BOOL, [1])]),
    "two types": model([node("Add", ("x", "b"))], [("x", T.FLOAT, [1]), ("b", T.INT64, [1])]),
    "shapes that do not fit": model([node("MatMul", ("x", "b"))], [("x", T.FLOAT, [2, 3]), ("b", T.FLOAT, [4, 5])]),
    "no attribute": model([node("Concat", ("x", "x"))]),
    "an unknown attribute": model([node("Neg", foo=3)]),
    "an attribute of a wrong type": model([node("Concat", ("x", "x"), axis=1.5)]),
    "an axis out of range": model([node("Concat", ("x", "x"), axis=7)]),
    "too few inputs": model([node("Add")]),
    "too many inputs": model([node("Neg", ("x", "x"))]),
    "a new opset": model([node("Neg")], opset=99),
    "a new format": model([node("Neg")], ir=99),
    "too few elements": model([node("Add", ("x", "w"))], weights=[weight(raw_data=b"1234")]),
    "files beside bytes": outside("w.bin"),
    "no file beside it": file("beside.onnx", outside("w.bin")),
    "a file elsewhere": file("elsewhere.onnx", outside("../w.bin")),
}
FEEDS = {
    "nothing": {},
    "too much": {"x": ZEROS, "q": ZEROS},
    "another name": {"q": ZEROS},
    "float64": {"x": ZEROS.astype(np.float64)},
    "integers": {"x": ZEROS.astype(np.int64)},
    "another rank": {"x": ZEROS[0]},
    "another size": {"x": np.zeros((2, 4), np.float32)},
    "None": {"x": None},
    "a list": {"x": [[1, 2, 3], [4, 5, 6]]},
    "a ragged list": {"x": [[1, 2, 3], [4, 5]]},
    "one number": {"x": 3.0},
    "text": {"x": "abc"},
    "a dict": {"x": {}},
    "no dict": None,
    "big ends first": {"x": ZEROS.astype(">f4")},
    "columns": {"x": np.zeros((3, 2), np.float32).T},
    "texts": {"x": np.array([["a"] * 3] * 2)},
}
OTHERS = {
    "a provider that there is not": lambda m: m.InferenceSession(NEG, providers=["Nope"]).get_providers(),
    "a provider twice": lambda m: m.InferenceSession(NEG, providers=["CPUExecutionProvider"] * 2).get_providers(),
    "options of a wrong type": lambda m: m.InferenceSession(NEG, 3),
    "an unknown option": lambda m: setattr(m.SessionOptions(), "nope", 1),
    "an option of a wrong type": lambda m: setattr(m.SessionOptions(), "intra_op_num_threads", "x"),
    "threads below zero": lambda m: load(m, options=options(m, intra_op_num_threads=-3)) and None,
    "an unknown level": lambda m: setattr(m.SessionOptions(), "graph_optimization_level", 77),
    "an entry without a key": lambda m: m.SessionOptions().add_session_config_entry("", "x"),
    "a long key": lambda m: m.SessionOptions().add_session_config_entry("k" * 2000, "x"),
    "an entry that there is not": lambda m: m.SessionOptions().get_session_config_entry("nothing"),
    "an entry that is no text": lambda m: m.SessionOptions().add_session_config_entry("a", 3),
    "no folder to write to": lambda m: load(m, options=options(m, optimized_model_filepath="/no/such/x.onnx")),
    "no library": lambda m: m.SessionOptions().register_custom_ops_library("/no/such.so"),
    "an unknown initializer": lambda m: changed(m, lambda made: made.add_initializer("nope", value(m))),
    "a dimension below zero": lambda m: changed(m, lambda made: made.add_free_dimension_override_by_name("n", -2), OPEN),
    "an unknown severity": lambda m: m.set_default_logger_severity(9),
    "severity as text": lambda m: m.set_default_logger_severity("x"),
    "an unknown output": lambda m: run(m, {"x": ZEROS}, ["q"]),
    "no outputs": lambda m: len(run(m, {"x": ZEROS}, [])),
    "an output twice": lambda m: len(run(m, {"x": ZEROS}, ["y", "y"])),
    "numbers for outputs": lambda m: run(m, {"x": ZEROS}, [3]),
    "a size that is not open": lambda m: run(m, {"x": np.zeros((2, 4), np.float32)}, source=OPEN),
    "no rows": lambda m: run(m, {"x": np.zeros((0, 3), np.float32)}, source=OPEN)[0].shape,
    "texts of numpy": lambda m: run(m, {"x": np.array(["a", "b"])}, source=TEXTS)[0].tolist(),
    "objects for texts": lambda m: run(m, {"x": np.array([1, 2], object)}, source=TEXTS)[0].tolist(),
    "floats for texts": lambda m: run(m, {"x": np.zeros(2, np.float32)}, source=TEXTS),
    "an index out of range": lambda m: run(m, {"x": np.zeros(4, np.float32), "i": np.array([0, 9])}, source=GATHER),
    "shapes that do not broadcast": lambda m: run(m, {"a": ZEROS[0], "b": np.zeros(4, np.float32)}, source=ADD),
    "a shape of other elements": lambda m: run(m, {"x": np.zeros(4, np.float32), "s": np.array([3])}, source=RESHAPE),
    "options of a run of a wrong type": lambda m: run(m, {"x": ZEROS}, options=3),
    "a run that is terminated": terminated,
    "an unknown option of a run": lambda m: setattr(m.RunOptions(), "nope", 1),
    "an entry that a run has not": lambda m: m.RunOptions().get_run_config_entry("nope"),
    "a value of a list": lambda m: value(m, [1, 2]),
    "a value on a device": lambda m: value(m, ZEROS, "cuda", 0),
    "a value below zero": lambda m: empty(m, [-2], np.float32),
    "a complex value": lambda m: empty(m, [2], np.complex64),
    "complex numbers": lambda m: value(m, np.zeros(2, np.complex64)),
    "a value of no type": lambda m: empty(m, [2], 999),
    "other sizes in place": lambda m: value(m).update_inplace(np.zeros(9, np.float32)),
    "values that miss": lambda m: load(m).run_with_ort_values(["y"], {}),
    "an array for a value": lambda m: load(m).run_with_ort_values(["y"], {"x": ZEROS}),
    "bound to an unknown input": lambda m: named(m, "q", "y"),
    "bound to a list": lambda m: named(m, "x", "y", [1]),
    "bound to another type": lambda m: named(m, "x", "y", ZEROS.astype(np.float64)),
    "bound to an unknown output": lambda m: named(m, "x", "q"),
    "bound to no input": lambda m: named(m, "", "y"),
    "bound to no output": lambda m: named(m, "x", ""),
    "an array bound as a value": lambda m: bound(m, lambda session, binding: binding.bind_ortvalue_input("x", ZEROS)),
    "an output with no room": lambda m: into(m, np.zeros((1, 3), np.float32)),
    "an output of another type": lambda m: into(m, np.zeros((2, 3), np.float64)),
    "another session's binding": lambda m: load(m).run_with_iobinding(load(m).io_binding()),
    "no profile": lambda m: load(m).end_profiling(),
    "another provider": lambda m: load(m).set_providers(["Nope"]),
    "the same provider": lambda m: load(m).set_providers(["CPUExecutionProvider"]),
}
# What Colonnade takes and ONNX Runtime does not.
TAKEN = {
    "an input of a wrong type": "operators are not held to the types that ONNX lists",
    "an unknown attribute": "what nobody reads is left alone",
    "a shape of other elements": "a shape of one element, whatever it says, is that of all elements",
}


def answer(question, m):
    """The class of what is raised, or what is answered."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return repr(question(m))
    except Exception as error:
        return type(error).__name__


class Misuse(unittest.TestCase):
    def setUp(self):
        theirs.set_default_logger_severity(4)
        warnings.simplefilter("ignore")

    def same(self, name, question):
        with self.subTest(name):
            expected, found = (answer(question, m) for m in (theirs, ours))
            if name in TAKEN:
                self.assertNotEqual(expected, found, "differs no more: no reason is needed")
            else:
                self.assertEqual(expected, found)

    def test_loading(self):
        for name, source in LOADING.items():
            self.same(name, lambda m, source=source: load(m, source) and None)

    def test_inputs(self):
        for name, feeds in FEEDS.items():
            self.same(name, lambda m, feeds=feeds: run(m, feeds)[0].shape)

    def test_others(self):
        for name, question in OTHERS.items():
            self.same(name, question)


if __name__ == "__main__":
    support.main()
