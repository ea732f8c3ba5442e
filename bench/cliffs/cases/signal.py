# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms, text features and losses."""
import numpy as np

from case import MICROSOFT, case, integers, known, made, w, x


def _picture(_):
    """An image of 64x64 as a file of bytes that needs no packing: a bitmap."""
    side = 64
    head = b"BM" + (54 + 3 * side * side).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little")
    info = (40).to_bytes(4, "little") + side.to_bytes(4, "little") * 2 + (1).to_bytes(2, "little") + (24).to_bytes(2, "little")
    pixels = (np.arange(3 * side * side) % 251).astype(np.uint8)
    return np.frombuffer(head + info + bytes(24) + pixels.tobytes(), np.uint8)


CASES = [
    case("DFT", "1x512x1", x(1, 512, 1), None, known(1), opset=20, error=1e-3),
    case("DFT", "8x400x1 one side", x(8, 400, 1), None, known(1), opset=20, onesided=1, error=1e-3),
    case("DFT", "1x64x64x2 rows", x(1, 64, 64, 2), None, known(1), opset=20, error=1e-3),
    case("DFT", "1x512x2 inverse", x(1, 512, 2), None, known(1), opset=20, inverse=1, error=1e-3),
    case("STFT", "1x16000 by 400", x(1, 16000, 1), known(160), w(400, low=0, high=1), known(400), onesided=1, error=1e-3),
    case("STFT", "1x16000 by 512", x(1, 16000, 1), known(256), w(512, low=0, high=1), known(512), onesided=1, error=1e-3),
    case("TfIdfVectorizer", "1x512 of 100", integers(1, 512, high=200), mode="TFIDF", min_gram_length=1, max_gram_length=1,
         max_skip_count=0, ngram_counts=[0], ngram_indexes=list(range(100)), pool_int64s=list(range(100)),
         weights=[0.5] * 100),
    case("NegativeLogLikelihoodLoss", "512x1000", x(512, 1000), integers(512, high=1000)),
    case("NegativeLogLikelihoodLoss", "1x21x64x64", x(1, 21, 64, 64), integers(1, 64, 64, high=21), reduction="none"),
    case("SoftmaxCrossEntropyLoss", "512x1000", x(512, 1000), integers(512, high=1000)),
    case("SoftmaxCrossEntropyLoss", "1x21x64x64 and logs", x(1, 21, 64, 64), integers(1, 64, 64, high=21), outputs=2),
    case("ImageDecoder", "64x64 bitmap", made(_picture), opset=20, pixel_format="RGB"),
    case("MurmurHash3", "8400 int32", integers(8400, dtype="int32", high=1 << 30), domain=MICROSOFT, seed=3),
    case("NGramRepeatBlock", "4x64 of 5000", integers(4, 64, high=50), x(4, 5000), domain=MICROSOFT, ngram_size=3),
]
