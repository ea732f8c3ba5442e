# SPDX-License-Identifier: Apache-2.0
"""Gathers, scatters, and what finds elements or puts them in order."""
import numpy as np

from case import MICROSOFT, bits, case, given, integers, known, made, w, x


def _distinct(count, *limits):
    """Distinct places of a tensor, a row each."""
    def make(generator):
        flat = generator.permutation(int(np.prod(limits)))[:count]
        return np.stack(np.unravel_index(flat, limits), -1).astype(np.int64)

    return made(make)


def _scattered(name, opset):
    yield case(name, "8400x85 by 1000 rows", x(8400, 85), integers(1000, 85, high=8400), x(1000, 85), opset=opset, axis=0)


CASES = [
    case("Gather", "30522x768 of 128", w(30522, 768), integers(1, 128, high=30522)),
    case("Gather", "1x197x768 first", x(1, 197, 768), known(0), axis=1),
    case("Gather", "1x12x128x64 columns", x(1, 12, 128, 64), integers(32, high=64), axis=3),
    case("Gather", "1x8400x4 of 300", x(1, 8400, 4), integers(300, high=8400), axis=1),
    case("Gather", "529x12 bias of windows", w(169, 12), integers(49 * 49, high=169)),
    case("Gather", "1x512 int64", integers(1, 512), integers(100, high=512, dtype="int32"), axis=1),
    case("Gather", "1x64x56x56 float16 rows", x(1, 64, 56, 56, dtype="float16"), integers(56, high=56), axis=2),
    case("GatherElements", "1x8400x4 of 300", x(1, 8400, 4), integers(1, 300, 4, high=8400), axis=1),
    case("GatherElements", "1x12x128x255 relative", x(1, 12, 128, 255), integers(1, 12, 128, 128, high=255), axis=3),
    case("GatherElements", "1x1000x80 int64", integers(1, 1000, 80), integers(1, 300, 80, high=1000), axis=1),
    case("GatherND", "1x8400x4 of 300", x(1, 8400, 4), made(lambda generator: np.stack(
        [np.zeros(300, np.int64), generator.integers(0, 8400, 300)], -1))),
    case("GatherND", "64x56x56 of 10000 elements", x(64, 56, 56), integers(10000, 3, high=56)),
    case("GatherND", "8x128x768 batched", x(8, 128, 768), integers(8, 64, 1, high=128), batch_dims=1),
    case("GatherND", "1x8400x4 of 300", x(1, 8400, 4), integers(300, 2, high=1), domain=MICROSOFT),
    *_scattered("ScatterElements", 18),
    case("ScatterElements", "1x8400x80 add", x(1, 8400, 80), integers(1, 1000, 80, high=8400), x(1, 1000, 80), axis=1,
         reduction="add"),
    case("ScatterElements", "1x32128 max", x(1, 32128), integers(1, 512, high=32128), x(1, 512), axis=1, reduction="max"),
    case("Scatter", "1000x85 by 300 rows", x(1000, 85), made(lambda generator: np.argsort(
        generator.random((1000, 85)), axis=0)[:300]), x(300, 85), opset=9, axis=0),
    case("ScatterND", "1x64x56x56 window", x(64, 56, 56), _distinct(1000, 64, 56), x(1000, 56)),
    case("ScatterND", "128x768 of 1000 elements", x(128, 768), _distinct(1000, 128, 768), x(1000)),
    case("ScatterND", "1x8400x80 add", x(8400, 80), _distinct(1000, 8400), x(1000, 80), reduction="add"),
    case("ScatterND", "cache 1x12x512x64", x(512, 12, 64), given([[127]]), x(1, 12, 64)),
    case("TensorScatter", "cache 1x12x512x64", x(1, 12, 512, 64), x(1, 12, 1, 64), given([127]), opset=24),
    case("TopK", "1x8400 of 300", x(1, 8400), known([300]), outputs=2),
    case("TopK", "1x1000 of 5", x(1, 1000), known([5]), outputs=2),
    case("TopK", "1x20000x80 of 1000 rows", x(1, 20000), known([1000]), outputs=2),
    case("TopK", "1x32000 of 50", x(1, 32000), known([50]), outputs=2),
    case("TopK", "1x80x400 middle", x(1, 400, 80), known([10]), outputs=2, axis=1),
    case("TopK", "16x1024 all, ascending", x(16, 1024), known([1024]), outputs=2, largest=0),
    case("TopK", "1x8400 int64", integers(1, 8400, high=1 << 40), known([100]), outputs=2),
    case("ArgMax", "1x1000", x(1, 1000), axis=1),
    case("ArgMax", "1x21x513x513 channels", x(1, 21, 513, 513), axis=1),
    case("ArgMax", "1x128x30522", x(1, 128, 3052), axis=2, keepdims=0),
    case("ArgMax", "8400x80", x(8400, 80), axis=1, keepdims=0),
    case("ArgMax", "1x128 int32", integers(8, 1280, dtype="int32"), axis=1),
    case("ArgMin", "512x1024", x(512, 1024), axis=1),
    case("ArgMin", "1x64x56x56 channels", x(1, 64, 56, 56), axis=1),
    case("CumSum", "1x512 int64", integers(1, 512, high=2), known(1)),
    case("CumSum", "1x128x768 down", x(1, 128, 768), known(1)),
    case("CumSum", "64x2048 reverse", x(64, 2048), known(1), reverse=1, exclusive=1),
    case("CumSum", "1x80x80 int32 down", integers(1, 80, 80, high=2, dtype="int32"), known(1)),
    case("CumProd", "64x2048", x(64, 2048, low=0.9, high=1.1), known(1), opset=26),
    case("OneHot", "128 of 1000", integers(128, high=1000), known(1000), known([0, 1], "float32")),
    case("OneHot", "1x512x512 of 21 channels", integers(1, 128, 128, high=21), known([21]), known([0, 1], "float32"), axis=1),
    case("OneHot", "1x512 of 80 int64", integers(1, 512, high=80), known(80), known([0, 1])),
    case("NonZero", "8400x80 of 1 percent", bits(8400, 80, share=0.01)),
    case("NonZero", "1x512 half", bits(1, 512)),
    case("NonZero", "1x64x56x56 float", x(1, 64, 56, 56, low=0, high=1)),
    case("Compress", "8400x85 rows", x(8400, 85), bits(8400, share=0.1), axis=0),
    case("Compress", "1x64x56x56 flat", x(1, 64, 56, 56), bits(64 * 56 * 56)),
    case("Unique", "8400 of 80", integers(8400, high=80), outputs=4),
    case("Unique", "10000 floats unsorted", made(lambda generator: generator.integers(0, 999, 10000).astype(np.float32)),
         outputs=4, sorted=0),
    case("Unique", "1000x8 rows", integers(1000, 8, high=3), axis=0),
    case("Unique", "8400 of 80", made(lambda generator: generator.integers(0, 80, 8400).astype(np.float32)),
         domain=MICROSOFT, outputs=3),
    case("TorchEmbedding", "1000x128 of 512", w(1000, 128), integers(1, 512, high=1000), domain=MICROSOFT),
]
