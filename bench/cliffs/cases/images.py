# SPDX-License-Identifier: Apache-2.0
"""Convolutions, pools, and what samples images."""
import numpy as np

from case import MICROSOFT, case, integers, known, made, w, x

_PADS = {"pads": [1, 1, 1, 1]}


def _size(*size):
    return known(size)


def _scale(*scales):
    return known(scales, "float32")


def _rois(count, side):
    """Boxes of an image of this side, as x1, y1, x2, y2."""
    def make(generator):
        corner = generator.uniform(0, side * 0.6, (count, 2))
        return np.concatenate([corner, corner + generator.uniform(side * 0.1, side * 0.4, (count, 2))], 1).astype(np.float32)

    return made(make)


def _boxes(count, side=640):
    return made(lambda generator: _rois(count, side).make(generator)[None])


def _encoded(count, side):
    return made(lambda generator: np.concatenate([np.zeros((count, 1), np.float32), _rois(count, side).make(generator)], 1))


_RESIZES = (
    ("1x64x28x28 nearest 2x", (1, 64, 28, 28), 2, {"mode": "nearest", "coordinate_transformation_mode": "asymmetric",
                                                   "nearest_mode": "floor"}),
    ("1x64x28x28 nearest half pixel", (1, 64, 28, 28), 2, {"mode": "nearest"}),
    ("1x64x28x28 linear 2x", (1, 64, 28, 28), 2, {"mode": "linear"}),
    ("1x64x28x28 linear align corners", (1, 64, 28, 28), 2, {"mode": "linear",
                                                            "coordinate_transformation_mode": "align_corners"}),
    ("1x21x65x65 linear 8x", (1, 21, 65, 65), 8, {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}),
    ("1x3x224x224 cubic 2x", (1, 3, 224, 224), 2, {"mode": "cubic", "cubic_coeff_a": -0.75}),
    ("1x3x448x448 half antialias", (1, 3, 448, 448), 0.5, {"mode": "linear", "antialias": 1}),
    ("1x3x448x448 half cubic antialias", (1, 3, 448, 448), 0.5, {"mode": "cubic", "antialias": 1}),
    ("1x3x448x448 half linear", (1, 3, 448, 448), 0.5, {"mode": "linear"}),
)

CASES = [case("Resize", form, x(*shape), None, _scale(1, 1, scale, scale), **attributes)
         for form, shape, scale, attributes in _RESIZES]
CASES += [
    case("Resize", "1x256x20x20 to 40x40", x(1, 256, 20, 20), None, None, _size(1, 256, 40, 40), mode="nearest"),
    case("Resize", "1x3x480x640 uint8 to 224", integers(1, 3, 480, 640, high=255, dtype="uint8"), None, None,
         _size(1, 3, 224, 224), mode="linear", error=0.01),
    case("Resize", "1x128x400 linear 1-D", x(1, 128, 400), None, _scale(1, 1, 2), mode="linear"),
    case("Resize", "1x28x28x64 channels last", x(1, 28, 28, 64), None, _scale(1, 2, 2, 1), mode="linear"),
    case("Resize", "1x16x8x32x32 3-D", x(1, 16, 8, 32, 32), None, _scale(1, 1, 2, 2, 2), mode="linear"),
    case("Upsample", "1x64x28x28 nearest", x(1, 64, 28, 28), _scale(1, 1, 2, 2), opset=9),
    case("Upsample", "1x64x28x28 linear", x(1, 64, 28, 28), _scale(1, 1, 2, 2), opset=9, mode="linear"),
    case("Conv", "1x64x56x56 3x3", x(1, 64, 56, 56), w(64, 64, 3, 3), w(64), **_PADS),
    case("Conv", "1x256x14x14 1x1", x(1, 256, 14, 14), w(512, 256, 1, 1), w(512)),
    case("Conv", "1x3x224x224 7x7", x(1, 3, 224, 224), w(64, 3, 7, 7), w(64), pads=[3, 3, 3, 3], strides=[2, 2]),
    case("Conv", "1x144x56x56 depthwise", x(1, 144, 56, 56), w(144, 1, 3, 3), w(144), group=144, **_PADS),
    case("Conv", "1x128x28x28 32 groups", x(1, 128, 28, 28), w(128, 4, 3, 3), group=32, **_PADS),
    case("Conv", "1x128x400 1-D", x(1, 128, 400), w(128, 128, 5), w(128), pads=[2, 2]),
    case("Conv", "1x128x400x1 5x1", x(1, 128, 400, 1), w(128, 128, 5, 1), w(128), pads=[2, 0, 2, 0]),
    case("Conv", "1x16x8x32x32 3-D", x(1, 16, 8, 32, 32), w(32, 16, 3, 3, 3), w(32), pads=[1] * 6),
    case("Conv", "1x64x8x28x28 3-D depthwise", x(1, 64, 8, 28, 28), w(64, 1, 3, 3, 3), w(64), pads=[1] * 6, group=64),
    case("Conv", "1x64x33x33 dilated", x(1, 64, 33, 33), w(64, 64, 3, 3), pads=[2, 2, 2, 2], dilations=[2, 2]),
    case("Conv", "1x64x28x28 computed weights", x(1, 64, 28, 28), x(64, 64, 3, 3), **_PADS),
    case("Conv", "1x64x200 computed weights", x(1, 64, 200), x(64, 64, 3), pads=[1, 1]),
    case("Conv", "1x64x28x28 float16", x(1, 64, 28, 28, dtype="float16"), w(64, 64, 3, 3, dtype="float16"), error=1e-2, **_PADS),
    case("Conv", "1x32x28x28 float64", x(1, 32, 28, 28, dtype="float64"), w(32, 32, 3, 3, dtype="float64"), **_PADS),
    case("ConvTranspose", "1x128x28x28 2x2", x(1, 128, 28, 28), w(128, 64, 2, 2), w(64), strides=[2, 2]),
    case("ConvTranspose", "1x64x28x28 4x4", x(1, 64, 28, 28), w(64, 32, 4, 4), strides=[2, 2], **_PADS),
    case("ConvTranspose", "1x21x33x33 depthwise 4x4", x(1, 21, 33, 33), w(21, 1, 4, 4), strides=[2, 2], group=21, **_PADS),
    case("ConvTranspose", "1x256x100 1-D", x(1, 256, 100), w(256, 128, 16), strides=[8], pads=[4, 4]),
    case("ConvTranspose", "1x16x8x16x16 3-D", x(1, 16, 8, 16, 16), w(16, 16, 2, 2, 2), strides=[2, 2, 2]),
    case("ConvTranspose", "1x16x8x16x16 3-D overlapping", x(1, 16, 8, 16, 16), w(16, 16, 3, 3, 3), strides=[2, 2, 2], pads=[1] * 6),
    case("ConvTranspose", "1x16x28x28 dilated groups", x(1, 16, 28, 28), w(16, 8, 3, 3), strides=[2, 2], dilations=[2, 2],
         group=2),
    case("ConvTranspose", "1x16x28x28 computed weights", x(1, 16, 28, 28), x(16, 16, 2, 2), strides=[2, 2]),
    case("ConvInteger", "1x64x28x28 3x3", integers(1, 64, 28, 28, high=255, dtype="uint8"),
         integers(64, 64, 3, 3, high=255, dtype="uint8", constant=True), known(128, "uint8"), known(120, "uint8"), **_PADS),
    case("DeformConv", "1x64x28x28 3x3", x(1, 64, 28, 28), w(64, 64, 3, 3), x(1, 18, 28, 28), w(64), x(1, 9, 28, 28, low=0),
         opset=22, error=1e-3, **_PADS),
    case("CausalConvWithState", "1x128x512", x(1, 512, 128), w(512, 1, 4), w(512), x(1, 512, 3), opset=27, outputs=2,
         activation="silu"),
    case("MaxPool", "1x64x112x112 3x3", x(1, 64, 112, 112), kernel_shape=[3, 3], strides=[2, 2], **_PADS),
    case("MaxPool", "1x256x20x20 5x5", x(1, 256, 20, 20), kernel_shape=[5, 5], pads=[2, 2, 2, 2]),
    case("MaxPool", "1x64x56x56 indices", x(1, 64, 56, 56), outputs=2, kernel_shape=[2, 2], strides=[2, 2]),
    case("MaxPool", "1x128x400 1-D", x(1, 128, 400), kernel_shape=[3], strides=[2]),
    case("MaxPool", "1x16x8x32x32 3-D", x(1, 16, 8, 32, 32), kernel_shape=[2, 2, 2], strides=[2, 2, 2]),
    case("MaxPool", "1x64x56x56 uint8", integers(1, 64, 56, 56, high=255, dtype="uint8"), kernel_shape=[2, 2], strides=[2, 2]),
    case("MaxPool", "1x64x56x56 float64", x(1, 64, 56, 56, dtype="float64"), kernel_shape=[2, 2], strides=[2, 2]),
    case("AveragePool", "1x64x56x56 2x2", x(1, 64, 56, 56), kernel_shape=[2, 2], strides=[2, 2]),
    case("AveragePool", "1x192x35x35 3x3", x(1, 192, 35, 35), kernel_shape=[3, 3], **_PADS),
    case("AveragePool", "1x16x8x32x32 3-D", x(1, 16, 8, 32, 32), kernel_shape=[2, 2, 2], strides=[2, 2, 2]),
    case("LpPool", "1x64x56x56 2x2", x(1, 64, 56, 56), opset=22, kernel_shape=[2, 2], strides=[2, 2], p=2),
    case("LpPool", "1x64x28x28 3x3", x(1, 64, 28, 28), opset=22, kernel_shape=[3, 3], p=2),
    case("GlobalAveragePool", "1x512x7x7", x(1, 512, 7, 7)),
    case("GlobalAveragePool", "1x64x112x112", x(1, 64, 112, 112)),
    case("GlobalMaxPool", "1x512x7x7", x(1, 512, 7, 7)),
    case("GlobalMaxPool", "1x64x112x112", x(1, 64, 112, 112)),
    case("GlobalLpPool", "1x512x7x7", x(1, 512, 7, 7), p=2),
    case("GlobalLpPool", "1x64x56x56", x(1, 64, 56, 56), p=2),
    case("MaxUnpool", "1x64x28x28", x(1, 64, 28, 28), made(lambda _: (np.arange(64 * 28 * 28) * 4).reshape(1, 64, 28, 28)),
         kernel_shape=[2, 2], strides=[2, 2]),
    case("MaxRoiPool", "1x64x50x50 of 100", x(1, 64, 50, 50), _encoded(100, 50), pooled_shape=[7, 7]),
    case("RoiAlign", "1x256x50x50 of 100", x(1, 256, 50, 50), _rois(100, 800), known([0] * 100), opset=16,
         output_height=7, output_width=7, sampling_ratio=2, spatial_scale=0.0625, error=1e-3),
    case("RoiAlign", "1x64x50x50 of 20, max", x(1, 64, 50, 50), _rois(20, 800), known([0] * 20), opset=16, mode="max",
         output_height=14, output_width=14, sampling_ratio=2, spatial_scale=0.0625, error=1e-3),
    case("CropAndResize", "1x64x50x50 of 50", x(1, 64, 50, 50), x(50, 4, low=0, high=1), known([0] * 50, "int32"),
         known([14, 14], "int32"), domain=MICROSOFT, error=1e-3),
    case("GridSample", "1x64x56x56 linear", x(1, 64, 56, 56), x(1, 56, 56, 2), opset=20, mode="linear"),
    case("GridSample", "1x3x256x256 cubic", x(1, 3, 256, 256), x(1, 256, 256, 2), opset=20, mode="cubic", error=1e-3),
    case("GridSample", "1x32x64x64 nearest border", x(1, 32, 64, 64), x(1, 64, 64, 2), opset=20, mode="nearest",
         padding_mode="border"),
    case("GridSample", "1x8x8x32x32 3-D", x(1, 8, 8, 32, 32), x(1, 8, 32, 32, 3), opset=20, mode="linear"),
    case("GridSample", "1x64x56x56", x(1, 64, 56, 56), x(1, 56, 56, 2), domain=MICROSOFT),
    case("AffineGrid", "1x3x224x224", x(1, 2, 3), known([1, 3, 224, 224]), opset=20),
    case("AffineGrid", "2x1x16x32x32 3-D", x(2, 3, 4), known([2, 1, 16, 32, 32]), opset=20),
    case("NonMaxSuppression", "1x80x1000", _boxes(1000), x(1, 80, 1000, low=0, high=1), known([100]), known([0.5], "float32"),
         known([0.9], "float32")),
    case("NonMaxSuppression", "1x1x8400", _boxes(8400), x(1, 1, 8400, low=0, high=1), known([300]), known([0.45], "float32"),
         known([0.25], "float32")),
    case("FusedConv", "1x64x56x56 relu", x(1, 64, 56, 56), w(64, 64, 3, 3), w(64), domain=MICROSOFT, activation="Relu", **_PADS),
    case("NhwcConv", "1x56x56x64", x(1, 56, 56, 64), w(64, 64, 3, 3), w(64), domain=MICROSOFT, **_PADS),
    case("NhwcFusedConv", "1x56x56x64 float16", x(1, 56, 56, 64, dtype="float16"), w(64, 64, 3, 3, dtype="float16"),
         w(64, dtype="float16"), domain=MICROSOFT, activation="Relu", error=1e-2, **_PADS),
    case("NhwcMaxPool", "1x56x56x64 uint8", integers(1, 56, 56, 64, high=255, dtype="uint8"), domain=MICROSOFT,
         kernel_shape=[2, 2], strides=[2, 2]),
    case("CausalConvWithState", "1x128x512", x(1, 512, 128), w(512, 1, 4), w(512), x(1, 512, 3), domain=MICROSOFT,
         outputs=2, activation="silu"),
]
