# SPDX-License-Identifier: Apache-2.0
"""Pictures and sounds that cases work on, made of nothing."""
import numpy
from PIL import Image, ImageDraw, ImageFont

LINES = ("Colonnade runs ONNX models", "Invoice No. 20261125", "Total: 1,284.50 EUR", "The quick brown fox")


def page(width=960, height=540):
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    for index, line in enumerate(LINES):
        draw.text((60, 60 + 110 * index), line, "black", ImageFont.load_default(42))
    return image


def word(text="3kW7"):
    image = Image.new("RGB", (160, 60), "white")
    ImageDraw.Draw(image).text((20, 6), text, "darkblue", ImageFont.load_default(40))
    return image


def speech(seconds=20, rate=16000):
    """Bursts of harmonics between pauses, as loud as a voice is."""
    random = numpy.random.default_rng(7)
    time = numpy.arange(seconds * rate) / rate
    pitch = 120 + 30 * numpy.sin(2 * numpy.pi * 0.7 * time)
    phase = 2 * numpy.pi * numpy.cumsum(pitch) / rate
    voice = sum(numpy.sin(k * phase) / k for k in range(1, 20))
    syllables = numpy.clip(numpy.sin(2 * numpy.pi * 3.1 * time), 0, 1) * (numpy.sin(2 * numpy.pi * 0.15 * time) > 0)
    return (0.2 * voice * syllables + 0.003 * random.standard_normal(time.size)).astype(numpy.float32)
