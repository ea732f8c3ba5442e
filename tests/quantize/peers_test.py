#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that `colonnade quantize` writes run in ONNX Runtime and OpenVINO, and are near the float32 file there and here.
Argument: the colonnade program. Without onnx and onnxruntime the tests are skipped; without openvino its part is."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests" / "support"), str(SOURCE / "models")]
import suite  # noqa: E402

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
except Exception as error:
    suite.skip(error)
try:
    import openvino
except ImportError:
    openvino = None

from zoo import NETWORKS  # noqa: E402

SIZES = {"resnet18": (64, 64), "mobilenet_v2": (64, 96), "mobilenet_v3_large": (64, 64), "efficientnet_b0": (64, 64),
         "yolov8n_640": (64, 96), "unet_256": (48, 64), "ssd_mobilenet": (160, 160), "convnext_tiny": (64, 64)}
LEAST_SQNR = 12  # dB of outputs; seeded weights are no trained ones


def noise(shape, seed=7):
    return np.random.default_rng(seed).uniform(-1.7, 1.7, shape).astype(np.float32)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=f"{op}_{outputs[0]}", **attributes)


def transformer(opset=17, width=64, depth=2):
    """Blocks of layer norm, heads and two products with GELU, seeded."""
    rng = np.random.default_rng(1)
    constants, nodes, x = {}, [], "x"

    def constant(name, value):
        constants[name] = np.asarray(value, np.float32)
        return name

    def product(x, name, rows, columns):
        nodes.append(node("MatMul", [x, constant(f"{name}_w", rng.normal(0, rows ** -0.5, (rows, columns)))], [f"{name}_p"]))
        nodes.append(node("Add", [f"{name}_p", constant(f"{name}_b", rng.normal(0, 0.1, columns))], [name]))
        return name

    def norm(x, name):
        gamma = rng.normal(1, 0.2, width) * np.where(np.arange(width) % 20 == 3, 8, 1)
        nodes.append(node("LayerNormalization", [x, constant(f"{name}_g", gamma),
                                                 constant(f"{name}_c", rng.normal(0, 0.1, width))], [name]))
        return name

    for i in range(depth):
        n = norm(x, f"n{i}")
        q, k, v = (product(n, f"{letter}{i}", width, width) for letter in "qkv")
        nodes.append(node("Transpose", [k], [f"kt{i}"], perm=[0, 2, 1]))
        nodes.append(node("MatMul", [q, f"kt{i}"], [f"s{i}"]))
        nodes.append(node("Mul", [f"s{i}", constant(f"root_of_width{i}", width ** -1.0)], [f"sd{i}"]))
        nodes.append(node("Softmax", [f"sd{i}"], [f"a{i}"], axis=-1))
        nodes.append(node("MatMul", [f"a{i}", v], [f"h{i}"]))
        nodes.append(node("Add", [x, product(f"h{i}", f"o{i}", width, width)], [f"r{i}"]))
        u = product(norm(f"r{i}", f"m{i}"), f"u{i}", width, 4 * width)
        nodes += [node("Div", [u, constant(f"root{i}", np.sqrt(2))], [f"e{i}"]), node("Erf", [f"e{i}"], [f"f{i}"]),
                  node("Add", [f"f{i}", constant(f"one{i}", 1)], [f"g{i}"]), node("Mul", [u, f"g{i}"], [f"t{i}"]),
                  node("Mul", [f"t{i}", constant(f"half{i}", 0.5)], [f"w{i}"])]
        x = f"y{i}"
        nodes.append(node("Add", [f"r{i}", product(f"w{i}", f"d{i}", 4 * width, width)], [x]))
    graph = helper.make_graph(nodes, "transformer", [helper.make_tensor_value_info("x", 1, [1, 24, width])],
                              [helper.make_tensor_value_info(x, 1, None)],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def sqnr(exact, other):
    return 10 * np.log10(np.square(exact).sum() / max(np.square(exact - other).sum(), 1e-30))


def by_onnxruntime(file, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.x64quantprecision", "1")  # without VNNI its sums of bytes would saturate
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"]).run(None, feeds)[0]


def by_openvino(file, feeds):
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(str(file)), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return list(compiled(feeds).values())[0]


class Peers(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_tool(self, *arguments):
        result = subprocess.run([sys.argv[1], *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
                                text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def by_engine(self, file, feeds):
        name, array = next(iter(feeds.items()))
        np.save(self.folder / "x.npy", array)
        self.run_tool("run", file, "--input", f"{name}={self.folder / 'x.npy'}", "--output", self.folder / "y.npz", "--quiet")
        with np.load(self.folder / "y.npz") as arrays:
            return arrays[onnx.load(file).graph.output[0].name]

    def quantise(self, model, *options, data=True):
        """The model's file and the quantised one, checked as ONNX."""
        file, quantised = self.folder / "net.onnx", self.folder / "quantised.onnx"
        onnx.save(model, file)
        info = model.graph.input[0]
        self.feeds = {info.name: noise([d.dim_value for d in info.type.tensor_type.shape.dim])}
        if data:
            np.savez(self.folder / "data.npz", **{info.name: np.concatenate(
                [noise(self.feeds[info.name].shape, seed) for seed in range(8)])})
            options = (*options, "--data", self.folder / "data.npz")
        self.report = self.run_tool("quantize", file, "-o", quantised, *options)
        return file, quantised

    def agree(self, file, quantised, least):
        exact = by_onnxruntime(file, self.feeds)
        everyone = {"ONNX Runtime": by_onnxruntime, "Colonnade": self.by_engine}
        if openvino:
            everyone["OpenVINO"] = by_openvino
        for name, run in everyone.items():
            with self.subTest(name):
                self.assertGreater(sqnr(exact, run(quantised, self.feeds)), least, self.report)
        if not openvino:
            self.skipTest("the package openvino is not installed")

    def test_transformer(self):
        file, quantised = self.quantise(transformer(), "--sqnr", 0)
        nodes = onnx.load(quantised).graph.node
        self.assertEqual(sum(n.op_type == "MatMul" for n in nodes), 16)
        self.assertEqual(self.report.count("integers, smoothed"), 8)
        self.agree(file, quantised, 30)

    def test_weights_only(self):
        for bits, least in (("int8", 30), ("int4", 12)):
            with self.subTest(bits):
                file, quantised = self.quantise(transformer(), "--weights-only", bits, data=False)
                self.assertLess(quantised.stat().st_size, (0.35 if bits == "int8" else 0.25) * file.stat().st_size)
                self.agree(file, quantised, least)

    def test_rows_as_bytes(self):
        file, quantised = self.quantise(transformer(), "--weights-only", "int4", "--accuracy-level", 4, data=False)
        products = [n for n in onnx.load(quantised).graph.node if n.op_type == "MatMulNBits"]
        self.assertEqual({a.i for n in products for a in n.attribute if a.name == "accuracy_level"}, {4})
        self.agree(file, quantised, 12)

    def test_weights_only_of_a_classifier(self):
        model = NETWORKS["mobilenet_v2"].model((64, 96))
        file, quantised = self.quantise(model, "--weights-only", "int4", data=False)
        operators = {n.op_type for n in onnx.load(quantised).graph.node}
        self.assertLessEqual({"MatMulNBits", "DequantizeLinear"}, operators)
        self.assertNotIn("QuantizeLinear", operators)
        self.agree(file, quantised, 15)


def of_zoo(name, size):
    def test(self):
        file, quantised = self.quantise(NETWORKS[name].model(size), "--sqnr", 0)
        onnx.checker.check_model(str(quantised), full_check=True)
        self.assertLess(quantised.stat().st_size, 0.35 * file.stat().st_size)
        self.agree(file, quantised, LEAST_SQNR)

    return test


for name, size in SIZES.items():
    if name in NETWORKS:
        setattr(Peers, f"test_{name}", of_zoo(name, size))

if __name__ == "__main__":
    suite.main()
