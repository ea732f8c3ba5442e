#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The generated networks have the parameters and multiplications that were published. Exits with 77 to be skipped."""
import math
import pathlib
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests" / "support"), str(SOURCE / "models")]
import suite  # noqa: E402

try:
    import numpy  # noqa: F401
    import onnx
except Exception as error:  # an onnx may be there and not fit the protobuf beside it
    suite.skip(error)

from zoo import NETWORKS  # noqa: E402

# Trainable parameters, batch norms included, and multiplications at the default size; torchvision's unless said.
PUBLISHED = {
    "mobilenet_v2": (3504872, 0.300e9),
    "mobilenet_v3_large": (5483032, 0.217e9),
    "efficientnet_b0": (5288548, 0.386e9),
    "regnet_y_800mf": (6432512, 0.834e9),
    "resnet18": (11689512, 1.814e9),
    "resnet50": (25557032, 4.089e9),
    "vgg16": (138357544, 15.470e9),
    "densenet121": (7978856, 2.834e9),
    "squeezenet1_1": (1235496, 0.349e9),
    "shufflenet_v2": (2278604, 0.145e9),
    "inception_v3": (23834568, 5.713e9),  # 27161264 with the auxiliary classifier
    "convnext_tiny": (28589128, 4.456e9),
    "yolov8n_640": (3157200 - 16, 8.7e9 / 2),  # Ultralytics; 16 belong to the decoding of boxes
    "ssd_mobilenet": (6.8e6, 1.2e9),  # Howard et al., 2017, table 13, rounded there
    "fast_neural_style_720p": (1679235, None),  # PyTorch's example
    "deeplabv3_mobilenet_v2_513": (None, 6.0e9),  # rounded
}


def unet_parameters(widths):
    double = lambda a, b: 9 * (a * b + b * b) + 4 * b
    down = sum(double(a, b) for a, b in zip((3, *widths), widths))
    up = sum(4 * wide * narrow + narrow + double(2 * narrow, narrow) for narrow, wide in zip(widths, widths[1:]))
    return down + up + widths[0] + 1


# The parameters of the others, by hand.
BY_HAND = {
    "mobilenet_v2_720p": 3504872 - 1281 * 1000,
    "unet_256": unet_parameters((32, 64, 128, 256)),
    "unet_720p": unet_parameters((16, 32, 64, 128)),
    "dncnn_512": (3 * 64 * 9 + 64) + 15 * (64 * 64 * 9 + 2 * 64) + (64 * 3 * 9 + 3),
    "srvgg_x4_256": (3 * 64 * 9 + 2 * 64) + 16 * (64 * 64 * 9 + 2 * 64) + (64 * 48 * 9 + 48),
    "espcn_1080p": (25 * 64 + 64) + (64 * 32 * 9 + 32) + (32 * 4 * 9 + 4),
    "six16_1080p": (3 * 16 * 9 + 16) + 4 * (16 * 16 * 9 + 16) + (16 * 3 * 9 + 3),
}


def parameters(model):
    """As before batch norms were folded: a folded bias stands for a scale and a shift."""
    counted = {"weight": 1, "bias": 1, "folded": 2}
    return sum(math.prod(i.dims) * counted.get(i.name.rpartition(".")[2], 0) for i in model.graph.initializer)


def shapes(model):
    """What shape inference finds, not what the generator believed."""
    graph = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True).graph
    values = [*graph.input, *graph.value_info, *graph.output]
    return {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}


def multiplications(model):
    found, weights = shapes(model), {i.name: i.dims for i in model.graph.initializer}
    total = 0
    for node in model.graph.node:
        if node.op_type in ("Conv", "Gemm"):
            total += math.prod(found[node.output[0]]) * math.prod(weights[node.input[1]][1:])
        elif node.op_type == "MatMul":
            total += math.prod(found[node.output[0]]) * weights[node.input[1]][0]
        elif node.op_type == "ConvTranspose":
            total += math.prod(found[node.input[0]]) * math.prod(weights[node.input[1]][1:])
    return total


class NetworksTest(unittest.TestCase):
    def test_every_network_has_its_row(self):
        self.assertEqual(set(NETWORKS), set(PUBLISHED) | set(BY_HAND))

    def test_parameters_and_multiplications(self):
        for name, network in NETWORKS.items():
            with self.subTest(name):
                model = network.model()
                wanted, wanted_multiplications = PUBLISHED.get(name, (BY_HAND.get(name), None))
                rounded = name == "ssd_mobilenet"
                if wanted:
                    self.assertAlmostEqual(parameters(model), wanted, delta=0.005 * wanted if rounded else 0)
                if wanted_multiplications:
                    delta = (0.04 if rounded else 0.005) * wanted_multiplications
                    self.assertAlmostEqual(multiplications(model), wanted_multiplications, delta=delta)

    def test_other_sizes_and_batches(self):
        for name, network in NETWORKS.items():
            if network.multiple:
                with self.subTest(name):
                    model = network.model((192, 224), 2)
                    onnx.checker.check_model(model)
                    self.assertEqual(shapes(model)["image"], [2, network.channels, 192, 224])
                    self.assertEqual(shapes(model)["result"][0], 2)

    def test_sizes_that_the_architecture_does_not_allow(self):
        for name, size in [("vgg16", (256, 256)), ("yolov8n_640", (640, 650)), ("resnet18", (16, 224))]:
            with self.assertRaises(ValueError):
                NETWORKS[name].model(size)

    def test_the_same_bytes_every_time(self):
        first, second = (NETWORKS["shufflenet_v2"].model().SerializeToString() for _ in range(2))
        self.assertEqual(first, second)

    def test_old_engines_can_read_them(self):
        for name in ("mobilenet_v3_large", "convnext_tiny"):
            model = NETWORKS[name].model()
            self.assertEqual((model.ir_version, [(o.domain, o.version) for o in model.opset_import]), (8, [("", 17)]))


if __name__ == "__main__":
    suite.main()
