# SPDX-License-Identifier: Apache-2.0
"""What many calls leave behind: nothing."""
import gc
import os
import unittest

import support

support.need("colonnade", "numpy", "onnx")

import numpy as np
from onnx import TensorProto as T

import colonnade

DIGITS = support.MODELS / "digits.onnx"
IMAGE = np.zeros((1, 1, 28, 28), np.float32)


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Leaks(unittest.TestCase):
    """Memory stays where it was: what a call leaked would show after so many."""

    MOST = 4 << 20

    def check(self, work, times):
        for _ in range(times // 4):
            work()
        gc.collect()
        before = resident_bytes()
        for _ in range(times):
            work()
        gc.collect()
        self.assertLess(resident_bytes() - before, self.MOST)

    def test_runs(self):
        session = colonnade.Session(support.identity(T.FLOAT, ["N"]))
        value = np.zeros(1000, np.float32)
        self.check(lambda: session.run({"x": value}), 20000)
        self.check(lambda: session(value[::2]), 20000)

    def test_errors(self):
        session = colonnade.Session(support.identity(T.FLOAT, ["N"]))
        wrong = np.zeros(10000)

        def work():
            try:
                session(wrong)
            except colonnade.InvalidInput:
                pass

        self.check(work, 5000)

    def test_strings_and_sequences(self):
        text = colonnade.Session(support.identity(T.STRING, ["N"]))
        value = np.array(["some longer text that is no short string"] * 50, object)
        self.check(lambda: text(value), 2000)

    def test_models_and_sessions(self):
        data = DIGITS.read_bytes()
        self.check(lambda: colonnade.Session(data, threads=1)(IMAGE), 40)


if __name__ == "__main__":
    support.main()
