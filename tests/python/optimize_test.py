# SPDX-License-Identifier: Apache-2.0
"""Models written as ONNX again, and operators of the program. onnx.checker accepts what is written; ONNX Runtime, where it
is installed, and Colonnade answer as before."""
import concurrent.futures
import os
import pathlib
import tempfile
import unittest

import support

support.need("colonnade", "numpy", "onnx")

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

import colonnade
import colonnade.onnxruntime as ours

try:
    import onnxruntime as theirs
except ModuleNotFoundError:
    theirs = None

SHARED = support.ROOT.parent / "shared" / "models"


def feeds_of(inputs, rng):
    feeds = {}
    for info in inputs:
        shape = [size if isinstance(size, int) else 2 for size in info.shape]
        array = rng.standard_normal(shape) if info.dtype.startswith("float") else rng.integers(0, 2, shape)
        feeds[info.name] = array.astype(colonnade.numpy_dtype(info.dtype))
    return feeds


def random_network(rng):
    """Convolutions, norms, scales, shapes that are computed, things twice and things for nothing."""
    channels, nodes, weights, last = 3, [], [], "x"

    def constant(array):
        weights.append(numpy_helper.from_array(np.asarray(array), f"w{len(weights)}"))
        return weights[-1].name

    def floats(*shape):
        return constant(rng.standard_normal(shape).astype(np.float32) * 0.5)

    def add(op, *inputs, **attributes):
        nonlocal last
        last = f"t{len(nodes)}"
        nodes.append(helper.make_node(op, list(inputs), [last], **attributes))
        return last

    for _ in range(rng.integers(3, 12)):
        kind = rng.integers(9)
        if kind == 0:
            after = int(rng.integers(1, 5))
            add("Conv", last, floats(after, channels, 3, 3), *([floats(after)] if rng.integers(2) else []), pads=[1, 1, 1, 1])
            channels = after
        elif kind == 1:
            after = int(rng.integers(1, 5))
            add("ConvTranspose", last, floats(channels, after, 1, 1))
            channels = after
        elif kind == 2:
            variance = constant(rng.random(channels).astype(np.float32) + 0.5)
            add("BatchNormalization", last, floats(channels), floats(channels), floats(channels), variance)
        elif kind == 3:
            shape = [(channels, 1, 1), (1, channels, 1, 1), (), (1,), (8,)][rng.integers(5)]
            operands = [last, floats(*shape)]
            op = ["Add", "Mul", "Sub"][rng.integers(3)]
            add(op, *(operands[::-1] if rng.integers(2) else operands))
        elif kind == 4:
            before = last
            add("Add", add("Relu", before), add("Relu", before))
        elif kind == 5:
            add("Transpose", add("Transpose", last, perm=[0, 2, 3, 1]), perm=[0, 3, 1, 2])
        elif kind == 6:
            shape = add("Shape", before := last)
            add("Reshape", before, shape)
        elif kind == 7:
            add("Neg", before := last)
            last = before
        else:
            add("Dropout", add("Identity", last))
    add("Identity", last)
    nodes[-1].output[0] = "y"
    return support.model_of(nodes, [("x", T.FLOAT, [1, 3, 8, 8])], [("y", T.FLOAT, [None] * 4)], weights)


class Writes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out.onnx"
        self.rng = np.random.default_rng(1)

    def same(self, before, feeds):
        """The written model: accepted by the checker, and the same answers from both engines."""
        onnx.checker.check_model(str(self.out), full_check=True)
        for results in (
            [colonnade.Session(model).run_list(feeds) for model in (before, str(self.out))],
            self.by_onnxruntime(before, feeds),
        ):
            for expected, found in zip(*results) if results else ():
                self.assertEqual(np.shape(expected), np.shape(found))
                if np.asarray(expected).dtype.kind == "f":
                    largest = max(1e-3, float(np.abs(expected).max(initial=0)))
                    np.testing.assert_allclose(found / largest, expected / largest, atol=2e-4)

    def by_onnxruntime(self, before, feeds):
        if theirs is None:
            return None
        try:
            return [
                theirs.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, feeds)
                for model in (before, str(self.out))
            ]
        except RuntimeError:
            # what the real library cannot run, it could not run before
            with self.assertRaises(RuntimeError):
                theirs.InferenceSession(before, providers=["CPUExecutionProvider"]).run(None, feeds)

    def test_random_networks(self):
        fewer = 0
        for _ in range(60):
            data = random_network(self.rng)
            model = colonnade.Model(data, keep_bytes=True)
            before, after = model.write_optimized(self.out)
            self.assertLessEqual(after, before)
            fewer += before - after
            self.same(data, {"x": self.rng.standard_normal((1, 3, 8, 8)).astype(np.float32)})
        self.assertGreater(fewer, 100)

    def test_embedded_models(self):
        for name in ("mobilenet", "unet"):
            path = str(support.MODELS / f"{name}.onnx")
            model = colonnade.Model(path)
            before, after = model.write_optimized(self.out)
            self.assertLess(after * 3, before)
            self.same(path, feeds_of(model.inputs, self.rng))

    @unittest.skipUnless(SHARED.is_dir(), "no shared models")
    def test_shared_models(self):
        written = 0
        for path in sorted(SHARED.rglob("*.onnx")):
            with self.subTest(path.name):
                model = colonnade.Model(str(path))
                before, after = model.write_optimized(self.out)
                self.assertLessEqual(after, before)
                again = colonnade.Model(str(self.out))
                self.assertEqual([i.name for i in again.inputs], [i.name for i in model.inputs])
                self.assertEqual([(o.name, o.dtype) for o in again.outputs], [(o.name, o.dtype) for o in model.outputs])
                written += 1
        self.assertGreater(written, 50)

    def test_by_onnxruntimes_options(self):
        path = str(support.MODELS / "mobilenet.onnx")
        for source in (path, pathlib.Path(path).read_bytes()):
            options = ours.SessionOptions()
            options.optimized_model_filepath = str(self.out)
            options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "out.data")
            options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "100000")
            ours.InferenceSession(source, options)
            self.assertLess(self.out.stat().st_size, 2_000_000)
            self.assertGreater((self.folder / "out.data").stat().st_size, 5_000_000)
            self.same(path, feeds_of(colonnade.Model(path).inputs, self.rng))

    def test_sequences_stay(self):
        sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(T.FLOAT, None))
        nodes = [helper.make_node("Identity", ["x"], ["i"]), helper.make_node("SequenceConstruct", ["i", "i"], ["y"])]
        data = support.model_of(nodes, [("x", T.FLOAT, [2])], [helper.make_value_info("y", sequence)])
        self.assertEqual(colonnade.Model(data, keep_bytes=True).write_optimized(self.out), (2, 1))
        onnx.checker.check_model(str(self.out), full_check=True)
        self.assertEqual(len(colonnade.Session(str(self.out))(np.ones(2, np.float32))), 2)

    def test_what_cannot_be_written(self):
        model = colonnade.Model(str(support.MODELS / "digits.onnx"))
        with self.assertRaises(colonnade.FileError):
            model.write_optimized(self.folder / "no" / "out.onnx")
        with self.assertRaises(colonnade.InvalidArgument):
            model.write_optimized(self.out, weights="a/b")
        with self.assertRaisesRegex(colonnade.InvalidArgument, "not kept"):
            colonnade.Model((support.MODELS / "digits.onnx").read_bytes()).write_optimized(self.out)
        options = ours.SessionOptions()
        options.optimized_model_filepath = str(self.folder / "no" / "out.onnx")
        with self.assertRaises(ours.capi.onnxruntime_pybind11_state.InvalidArgument):
            ours.InferenceSession(str(support.MODELS / "digits.onnx"), options)
        self.assertEqual(os.listdir(self.folder), [])


class Scaled:
    """x * attribute `by`, twice as long."""

    domain, name = "own", "Scaled"

    def compute(self, node, x):
        return np.concatenate([x, x]) * node.attributes["by"]

    def infer(self, node, types):
        (dtype, shape), *_ = types
        return [(dtype, None if shape is None else [None if shape[0] is None else 2 * shape[0]])]


class Failing(Scaled):
    def compute(self, node, x):
        raise ValueError("nothing doing")


def custom_model(*inputs):
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("Scaled", ["a"], ["b"], name="mine", domain="own", by=3.0),
        helper.make_node("Neg", ["b"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", T.FLOAT, ["n"])], [helper.make_tensor_value_info("y", T.FLOAT, ["m"])]
    )
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=9).SerializeToString()


class Operators(unittest.TestCase):
    def test_runs(self):
        session = colonnade.Session(custom_model(), operators=[Scaled()])
        np.testing.assert_array_equal(session(np.array([1, 2], np.float32)), [3, 6, 3, 6])

    def test_without_a_rule_for_shapes(self):
        class Plain:
            domain, name = "own", "Scaled"

            def compute(self, node, x):
                self.seen = node
                return x[::-1]  # no dense array

        plain = Plain()
        session = colonnade.Session(custom_model(), operators=[plain])
        np.testing.assert_array_equal(session(np.array([1, 2, 3], np.float32)), [3, 2, 1])
        self.assertEqual((plain.seen.name, plain.seen.attributes, plain.seen.outputs), ("mine", {"by": 3.0}, ["b"]))

    def test_what_is_raised_names_the_node(self):
        session = colonnade.Session(custom_model(), operators=[Failing()])
        with self.assertRaisesRegex(colonnade.InvalidInput, "mine.*ValueError: nothing doing"):
            session(np.array([1], np.float32))
        self.assertEqual(session.model.inputs[0].name, "x")

    def test_threads(self):
        session = colonnade.Session(custom_model(), operators=[Scaled()])
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda i: session(np.full(2, i, np.float32)), range(40)))
        self.assertEqual([result[0] for result in results], [3 * i for i in range(40)])

    def test_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.onnx")
            model = colonnade.Model(custom_model(), operators=[Scaled()])
            self.assertEqual(model.write_optimized(path), (3, 3))
            session = colonnade.Session(path, operators=[Scaled()])
            np.testing.assert_array_equal(session(np.array([1], np.float32)), [3, 3])

    def test_refused(self):
        for wrong in (object(), type("NoName", (), {"domain": "own"})()):
            with self.assertRaisesRegex(colonnade.InvalidArgument, "operators"):
                colonnade.Model(custom_model(), operators=[wrong])
        with self.assertRaisesRegex(colonnade.Unsupported, "Scaled"):
            colonnade.Model(custom_model())
        with self.assertRaises(colonnade.InvalidArgument):
            colonnade.Model(custom_model(), operators=[Scaled()], compiled="x")

        class Wrong(Scaled):
            def infer(self, node, types):
                return ["float32"]

        with self.assertRaisesRegex(colonnade.InvalidModel, "mine.*infer"):
            colonnade.Model(custom_model(), operators=[Wrong()])


if __name__ == "__main__":
    support.main()
