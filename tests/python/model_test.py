# SPDX-License-Identifier: Apache-2.0
"""Models: where they come from, what they tell, how they are drawn; and that the package is what its stubs say."""
import ast
import errno
import importlib.metadata
import importlib.util
import inspect
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest
import xml.etree.ElementTree

import support

support.need("colonnade", "numpy", "onnx")

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

import colonnade
from colonnade import _engine

DIGITS = support.MODELS / "digits.onnx"
IMAGE = np.random.default_rng(2).random((1, 1, 28, 28), np.float32)
PACKAGE = pathlib.Path(colonnade.__file__).parent


class Sources(unittest.TestCase):
    def test_sources(self):
        data = DIGITS.read_bytes()
        expected = colonnade.Session(colonnade.Model.embedded("digits"))(IMAGE)

        def reader(offset, into):
            into[:] = data[offset : offset + len(into)]

        for source, options in (
            (DIGITS, {}),
            (str(DIGITS), {}),
            (data, {}),
            (bytearray(data), {}),
            (memoryview(data), {}),
            (np.frombuffer(data, np.uint8), {}),
            (reader, {"size": len(data)}),
        ):
            np.testing.assert_array_equal(colonnade.Session(source, **options)(IMAGE), expected)
        self.assertIn("digits", colonnade.embedded_names())

    def test_a_reader_that_raises(self):
        def reader(offset, into):
            raise RuntimeError("the key is wrong")

        with self.assertRaisesRegex(Exception, "the key is wrong"):
            colonnade.Model(reader, size=1000)
        with self.assertRaisesRegex(colonnade.InvalidArgument, "needs both it and size="):
            colonnade.Model(reader)
        with self.assertRaises(colonnade.InvalidModel):
            colonnade.Model(lambda offset, into: None, size=1000)

    def test_bad_sources(self):
        with tempfile.TemporaryDirectory() as folder:
            empty = pathlib.Path(folder) / "empty.onnx"
            empty.touch()
            for source, error, message in (
                (pathlib.Path(folder) / "none.onnx", colonnade.FileError, "none.onnx"),
                (empty, colonnade.InvalidModel, "empty.onnx"),
                (b"garbage", colonnade.InvalidModel, "not an ONNX model"),
                (b"", colonnade.InvalidModel, "no bytes"),
                (3, colonnade.InvalidArgument, "model: expected a path, bytes or a callable, found int"),
                (np.zeros(3), colonnade.InvalidArgument, "model: expected bytes, found an array of float64"),
            ):
                with self.assertRaisesRegex(error, message):
                    colonnade.Model(source)

    def test_options(self):
        model = colonnade.Model(DIGITS, threads=1, schedule="layers", math="exact", memory_limit_bytes=1 << 24)
        options = model.options
        self.assertEqual([options[k] for k in ("threads", "schedule", "math")], [1, "layers", "exact"])
        self.assertEqual(model.describe()["schedule"], "layers")
        for keywords, message in (
            ({"thread": 1}, "no option 'thread'; there are: threads, schedule"),
            ({"threads": "two"}, "threads: expected a number of at least 0, found 'two'"),
            ({"threads": -1}, "threads must be 0 to 4096, found -1"),
            ({"schedule": "fast"}, "schedule: expected one of 'automatic', 'columns', 'layers', found 'fast'"),
            ({"padding": "none"}, "padding: expected one of 'zeros', 'compute', found 'none'"),
            ({"dynamic_scale": "text"}, "dynamic_scale: expected one of 'tensor', 'sequence', 'row', found 'text'"),
            ({"dimensions": {"batch": "x"}}, "dimensions: expected a dict of numbers by symbol"),
            ({"isa": 3}, "isa: expected text, found int"),
        ):
            with self.assertRaisesRegex(colonnade.InvalidArgument, message):
                colonnade.Model(DIGITS, **keywords)
        with self.assertRaisesRegex(colonnade.InvalidArgument, "options belong to the model"):
            colonnade.Session(model, threads=2)
        with self.assertRaises(colonnade.ResourceLimit):
            colonnade.Session(DIGITS, memory_limit_bytes=1)(IMAGE)

    def test_metadata(self):
        data = onnx.load_from_string(support.identity(T.FLOAT))
        data.producer_name, data.producer_version, data.domain, data.model_version = "loom", "4.2", "org.example", 7
        data.doc_string, data.graph.doc_string = "weaves", "warp and weft"
        data.metadata_props.add(key="threads", value="many")
        self.assertEqual(
            colonnade.Model(data.SerializeToString()).metadata,
            {
                "producer_name": "loom",
                "producer_version": "4.2",
                "domain": "org.example",
                "description": "weaves",
                "model_version": 7,
                "ir_version": data.ir_version,
                "graph_name": "graph",
                "graph_description": "warp and weft",
                "opsets": {"ai.onnx": 19, "ai.onnx.ml": 3},
                "custom": {"threads": "many"},
            },
        )

    def test_what_it_says_of_itself(self):
        model = colonnade.Model(DIGITS)
        self.assertEqual(model.name, "digits.onnx")
        self.assertEqual(repr(model), "<colonnade.Model 'digits.onnx': 1 input, 1 output>")

    def test_dimensions(self):
        model = colonnade.Model(DIGITS, dimensions={"batch": 3})
        self.assertEqual(model.inputs[0].shape, (3, 1, 28, 28))
        self.assertEqual(model.resolve_shapes(), {"image": (3, 1, 28, 28)})
        with self.assertRaises(colonnade.InvalidInput):
            colonnade.Session(model)(IMAGE)
        with self.assertRaisesRegex(colonnade.InvalidArgument, "nothing"):
            colonnade.Model(DIGITS, dimensions={"nothing": 3})


    def test_compiled_file_and_log(self):
        lines = []
        colonnade.set_log_handler(lambda level, line: lines.append((level, line)))
        self.addCleanup(colonnade.set_log_handler, None)
        expected = colonnade.Session(DIGITS)(IMAGE)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "digits.compiled"
            for damaged in (False, False, True):
                if damaged:
                    path.write_bytes(b"nothing that was compiled")
                lines.clear()
                session = colonnade.Session(DIGITS, compiled=path)
                np.testing.assert_array_equal(session(IMAGE), expected)
                self.assertTrue(path.is_file())
                del session
            self.assertTrue(any("digits.compiled" in line for _, line in lines), lines)


class Tells(unittest.TestCase):
    def setUp(self):
        self.model = colonnade.Model(DIGITS)

    def test_inputs_and_outputs(self):
        image, probabilities = self.model.inputs[0], self.model.outputs[0]
        self.assertEqual((image.name, image.dtype, image.shape), ("image", "float32", ("batch", 1, 28, 28)))
        self.assertEqual(image.containers, ())
        self.assertEqual(probabilities.name, "probabilities")
        shapes = support.model_of(
            [helper.make_node("Identity", ["x"], ["y"])], [("x", T.INT64, None)], [("y", T.INT64, None)]
        )
        self.assertIsNone(colonnade.Model(shapes).inputs[0].shape)
        sequence = helper.make_tensor_sequence_value_info("s", T.FLOAT, None)
        length = support.model_of([helper.make_node("SequenceLength", ["s"], ["n"])], [sequence], [("n", T.INT64, [])])
        self.assertEqual(colonnade.Model(length).inputs[0].containers, ("sequence",))

    def test_plans(self):
        plan = self.model.plan({"image": (2, 1, 28, 28)})
        told = plan.describe()
        self.assertEqual(told["inputs"][0]["shape"], [2, 1, 28, 28])
        self.assertEqual(told, self.model.describe({"image": (2, 1, 28, 28)}))
        self.assertRegex(repr(plan), r"colonnade.Plan of digits.*: \d+ segments, \d+ threads")
        for stage in ("graph", "optimized", "plan", "program"):
            self.assertTrue(self.model.print(stage))
        with self.assertRaisesRegex(colonnade.InvalidArgument, "stage: expected one of"):
            self.model.print("nothing")
        with self.assertRaises(colonnade.InvalidArgument):
            self.model.plan({"nothing": (1,)})

    def test_picture(self):
        for drawn in (self.model, self.model.plan()):
            svg = drawn._repr_svg_()
            root = xml.etree.ElementTree.fromstring(svg)
            self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
            operators = sum(len(segment["operators"]) for segment in self.model.describe()["segments"])
            self.assertEqual(svg.count('class="bar"'), operators)
            self.assertNotIn("<script", svg)

    def test_reference(self):
        reference = self.model.evaluate_reference({"image": IMAGE})["probabilities"]
        np.testing.assert_allclose(colonnade.Session(self.model)(IMAGE), reference, atol=1e-5)

    def test_machine(self):
        self.assertGreaterEqual(colonnade.describe_machine()["default_threads"], 1)


class Errors(unittest.TestCase):
    def test_one_hierarchy(self):
        kinds = {
            colonnade.InvalidArgument: ValueError,
            colonnade.InvalidModel: ValueError,
            colonnade.InvalidInput: ValueError,
            colonnade.Unsupported: NotImplementedError,
            colonnade.ResourceLimit: MemoryError,
            colonnade.FileError: OSError,
            colonnade.InternalError: RuntimeError,
            colonnade.Cancelled: Exception,
            colonnade.DeadlineExceeded: TimeoutError,
        }
        for kind, base in kinds.items():
            self.assertTrue(issubclass(kind, colonnade.ColonnadeError) and issubclass(kind, base))
            self.assertEqual(str(pickle.loads(pickle.dumps(kind("why")))), "why")

    def test_files_that_cannot_be_read(self):
        with tempfile.TemporaryDirectory() as folder:
            missing = pathlib.Path(folder) / "none.onnx"
            for path, kind, number in (
                (missing, FileNotFoundError, errno.ENOENT),
                (pathlib.Path(folder), IsADirectoryError, errno.EISDIR),
            ):
                for make in (colonnade.Model, colonnade.Session):
                    with self.assertRaises(kind) as caught:
                        make(path)
                    error = caught.exception
                    self.assertIsInstance(error, colonnade.FileError)
                    self.assertEqual((error.errno, error.strerror, error.filename), (number, os.strerror(number), str(path)))
                    self.assertIn(path.name, str(error))
                    again = pickle.loads(pickle.dumps(error))
                    self.assertEqual((type(again), again.errno, str(again)), (type(error), number, str(error)))

    def test_names_that_are_no_utf8(self):
        data = support.identity(T.FLOAT).replace(b"\x12\x01x", b"\x12\x01\xff")
        with self.assertRaises(colonnade.ColonnadeError):
            colonnade.Session(data)(np.zeros(3))


def stub_names(node):
    """Public functions, classes and properties of a stub, with the parameters of functions; not the dicts of options,
    which are types alone."""
    names = {}
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and (not item.name.startswith("_") or item.name in ("__init__", "__call__")):
            arguments = item.args
            given = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
            given += [a.arg for a in (arguments.vararg, arguments.kwarg) if a]
            names[item.name] = [name for name in given if name != "self"]
        elif isinstance(item, ast.ClassDef) and not item.name.endswith(("Options", "Metadata")):
            names[item.name] = stub_names(item)
    return names


def engine_names(container):
    """The same of the module itself, from the signatures that nanobind keeps."""
    names = {}
    for name, value in vars(container).items():
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        if inspect.isclass(value):
            names[name] = engine_names(value)
        elif isinstance(value, property):
            names[name] = []
        else:
            value = getattr(value, "__func__", value)
            signature = getattr(value, "__nb_signature__", None)
            if signature is not None:
                call = ast.parse(re.sub(r"\\\d+", "None", signature[0][0]) + ": ...").body[0].args
                given = [a.arg for a in call.posonlyargs + call.args + call.kwonlyargs]
                given += [a.arg for a in (call.vararg, call.kwarg) if a]
                names[name] = [n for n in given if n != "self"]
            elif getattr(value, "__text_signature__", None) is not None:
                names[name] = [n for n in inspect.signature(value).parameters if n != "self"]
    return names


class Stubs(unittest.TestCase):
    maxDiff = None

    def test_stubs_say_what_there_is(self):
        stub = stub_names(ast.parse((PACKAGE / "_engine.pyi").read_text()))
        engine = engine_names(_engine)
        for name, members in engine.items():
            if isinstance(members, dict) and "__init__" not in stub.get(name, {}):
                members.pop("__init__", None)
        self.assertEqual(stub, engine)

    def test_types(self):
        if importlib.util.find_spec("mypy") is None:
            self.skipTest("mypy is not installed")
        program = textwrap.dedent(
            """
            import asyncio
            import colonnade
            import colonnade.onnxruntime as onnxruntime

            session = colonnade.Session("model.onnx", threads=2)
            result: dict[str, object] = session.run({"x": b"abc"}, ["y"], timeout=1.0)
            shape: tuple[int | str | None, ...] | None = session.model.inputs[0].shape
            again: dict[str, object] = asyncio.run(session.run_async([b""]))
            results: list[object] = onnxruntime.InferenceSession("model.onnx").run(None, {"x": 1})
            session.run(3)  # wrong
            colonnade.Model("model.onnx", thread=2)  # wrong
            """
        )
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "program.py"
            path.write_text(program)
            command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder, str(path), str(PACKAGE)]
            result = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)
        wrong = sorted(set(re.findall(r"program.py:(\d+): error", result.stdout)))
        expected = [str(i) for i, line in enumerate(program.splitlines(), 1) if line.endswith("# wrong")]
        self.assertEqual(wrong, expected, result.stdout)
        self.assertNotIn("colonnade/", result.stdout)

    def test_no_host_paths(self):
        for file in PACKAGE.rglob("*"):
            if file.is_file() and file.suffix != ".pyc":
                self.assertNotIn(str(support.ROOT).encode(), file.read_bytes(), file)

    def test_version(self):
        text = (support.ROOT / "CMakeLists.txt").read_text()
        self.assertIn(f"project(colonnade VERSION {colonnade.__version__} ", text)


if __name__ == "__main__":
    support.main()
