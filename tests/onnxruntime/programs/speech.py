# SPDX-License-Identifier: Apache-2.0
"""Prints where sherpa-onnx finds speech in a sound with the pitch and rhythm of it. Argument: Silero's network."""
import sys

import numpy as np
import sherpa_onnx

RATE = 16000


def voiced(count: int) -> np.ndarray:
    time = np.arange(count) / RATE
    phase = 2 * np.pi * np.cumsum(120 + 20 * np.sin(2 * np.pi * 3 * time)) / RATE
    harmonics = sum(np.sin(k * phase) / k for k in range(1, 25))
    return 0.2 * harmonics * (0.5 + 0.5 * np.sin(2 * np.pi * 4 * time))


config = sherpa_onnx.VadModelConfig()
config.silero_vad.model = sys.argv[1]
config.sample_rate = RATE
config.num_threads = 1
detector = sherpa_onnx.VoiceActivityDetector(config, buffer_size_in_seconds=60)
parts = [np.zeros(RATE), voiced(2 * RATE), np.zeros(RATE), voiced(3 * RATE), np.zeros(RATE)]
sound = (np.concatenate(parts) + 0.001 * np.random.default_rng(0).standard_normal(8 * RATE)).astype(np.float32)
window = config.silero_vad.window_size
segments = []
for begin in range(0, len(sound) - window, window):
    detector.accept_waveform(sound[begin : begin + window])
detector.flush()
while not detector.empty():
    segments.append((detector.front.start, len(detector.front.samples)))
    detector.pop()
print(segments)
