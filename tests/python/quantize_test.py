# SPDX-License-Identifier: Apache-2.0
"""colonnade.quantize: the file it makes, what it takes as data, and what it refuses."""
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

DIGITS = support.MODELS / "digits.onnx"


def strokes(count, seed):
    """Pictures of a vertical or horizontal stroke somewhere."""
    random = np.random.default_rng(seed)
    images = np.zeros((count, 1, 1, 28, 28), np.float32)
    for image in images:
        row, column = random.integers(4, 20, 2)
        if random.integers(2):
            image[0, 0, 4:24, column : column + 2] = 1
        else:
            image[0, 0, row : row + 2, 4:24] = 1
    return images


def two_inputs(folder):
    """y = relu(a @ w) + b"""
    weights = np.random.default_rng(2).standard_normal((16, 8)).astype(np.float32)
    model = support.model_of(
        [
            helper.make_node("MatMul", ["a", "w"], ["p"], name="product"),
            helper.make_node("Relu", ["p"], ["r"]),
            helper.make_node("Add", ["r", "b"], ["y"]),
        ],
        [("a", T.FLOAT, ["N", 16]), ("b", T.FLOAT, ["N", 8])],
        [("y", T.FLOAT, ["N", 8])],
        [numpy_helper.from_array(weights, "w")],
    )
    path = pathlib.Path(folder) / "two.onnx"
    path.write_bytes(model)
    return path


class Quantize(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_the_file_agrees_with_the_model(self):
        out = self.folder / "int8.onnx"
        result = colonnade.quantize(DIGITS, out, strokes(40, 1), samples=20)
        self.assertEqual(out.read_bytes(), result.model)
        operators = [node.op_type for node in onnx.load_from_string(result.model).graph.node]
        self.assertIn("QuantizeLinear", operators)
        self.assertTrue(all(layer.quantised for layer in result.layers))
        self.assertGreater(result.sqnr, 15)
        before, after = colonnade.Session(DIGITS), colonnade.Session(result.model)
        for image in strokes(20, 2):
            self.assertLess(np.abs(before(image) - after(image)).max(), 0.1)

    def test_samples_in_each_form_give_the_same_file(self):
        path = two_inputs(self.folder)
        random = np.random.default_rng(3)
        pairs = [(random.random((2, 16), np.float32), random.random((2, 8), np.float32)) for _ in range(4)]
        by_place = colonnade.quantize(path, data=pairs)
        by_name = colonnade.quantize(path, data=({"b": b, "a": a} for a, b in pairs))
        self.assertEqual(by_place.model, by_name.model)
        self.assertEqual([layer.node for layer in by_place.layers], ["product"])

    def test_weights_only_needs_no_data(self):
        result = colonnade.quantize(two_inputs(self.folder), weights_only="int8")
        self.assertIn("DequantizeLinear", [node.op_type for node in onnx.load_from_string(result.model).graph.node])
        self.assertEqual([layer.quantised for layer in result.layers], [True])

    def test_nodes_that_are_kept_say_why(self):
        first = colonnade.quantize(DIGITS, data=strokes(4, 1)).layers[0].node
        layers = {layer.node: layer for layer in colonnade.quantize(DIGITS, data=strokes(4, 1), keep=[first]).layers}
        self.assertEqual((layers[first].quantised, layers[first].reason), (False, "asked for"))
        self.assertTrue(any(layer.quantised for layer in layers.values()))

    def test_progress_is_told_and_may_end_the_work(self):
        told = []
        colonnade.quantize(DIGITS, data=strokes(4, 1), progress=lambda what, fraction: told.append((what, fraction)))
        self.assertTrue(told and all(0 <= fraction <= 1 for _, fraction in told), told)

        def stop(what, fraction):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            colonnade.quantize(DIGITS, data=strokes(4, 1), progress=stop)

    def test_refusals_name_what_is_wrong(self):
        path = two_inputs(self.folder)
        a, b = np.zeros((2, 16), np.float32), np.zeros((2, 8), np.float32)
        cases = [
            (colonnade.InvalidArgument, "data is needed", lambda: colonnade.quantize(DIGITS)),
            (colonnade.InvalidArgument, "leave out data", lambda: colonnade.quantize(DIGITS, data=[a], weights_only="int8")),
            (colonnade.InvalidArgument, "'percentile'", lambda: colonnade.quantize(DIGITS, data=[a], method="mean")),
            (colonnade.InvalidArgument, "'int4'", lambda: colonnade.quantize(DIGITS, weights_only="int3")),
            (colonnade.InvalidArgument, "expected 0 or 4", lambda: colonnade.quantize(DIGITS, weights_only="int4", accuracy_level=1)),
            (colonnade.InvalidArgument, "four bits", lambda: colonnade.quantize(DIGITS, weights_only="int8", accuracy_level=4)),
            (colonnade.InvalidArgument, "no node 'x'", lambda: colonnade.quantize(path, data=[(a, b)], keep=["x"])),
            (colonnade.InvalidArgument, "found one str", lambda: colonnade.quantize(path, data=[(a, b)], keep="product")),
            (colonnade.InvalidArgument, "path of a file", lambda: colonnade.quantize(b"model", data=[(a, b)])),
            (colonnade.FileError, "missing.onnx", lambda: colonnade.quantize("missing.onnx", data=[a])),
            (colonnade.InvalidInput, "sample 0, input 'a': expected 2 arrays, found 1", lambda: colonnade.quantize(path, data=[a])),
            (colonnade.InvalidInput, "sample 1, input 'b': no array is named 'b'",
             lambda: colonnade.quantize(path, data=[(a, b), {"a": a, "c": b}])),
            (colonnade.InvalidInput, "samples", lambda: colonnade.quantize(path, data=[])),
            (colonnade.InvalidInput, "'a'", lambda: colonnade.quantize(path, data=[(np.zeros((2, 15), np.float32), b)])),
        ]
        for kind, text, call in cases:
            with self.subTest(text), self.assertRaises(kind) as caught:
                call()
            self.assertIn(text, str(caught.exception))


if __name__ == "__main__":
    support.main()
