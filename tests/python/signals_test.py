# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and other signals end runs, in the main thread."""
import asyncio
import os
import signal
import threading
import time
import unittest

import support

support.need("colonnade", "numpy", "onnx")

import numpy as np
from onnx import TensorProto as T
from onnx import helper, numpy_helper

import colonnade
from session_test import LONG, SHORT, endless_loop

# What shells start in the background ignores SIGINT, and Python then leaves it so.
signal.signal(signal.SIGINT, signal.default_int_handler)
SOON = 0.05
ATTEMPTS = 5  # other processes may take the cores: the best one counts


def convolutions(layers=8, channels=64, size=448):
    """Some seconds of work, in segments of columns."""
    rng = np.random.default_rng(1)
    shape = (channels, channels, 3, 3)
    weights = [
        numpy_helper.from_array((rng.random(shape, np.float32) - 0.5) * 0.05, f"w{i}") for i in range(layers)
    ]
    nodes = [helper.make_node("Conv", [f"t{i}", f"w{i}"], [f"t{i + 1}"], pads=[1, 1, 1, 1]) for i in range(layers)]
    tensor = [1, channels, size, size]
    return support.model_of(nodes, [("t0", T.FLOAT, tensor)], [(f"t{layers}", T.FLOAT, tensor)], weights)


class Signals(unittest.TestCase):
    def interrupt(self, call, after=0.2, number=signal.SIGINT, expected=KeyboardInterrupt):
        """Seconds from a real signal to the exception."""
        sent = []

        def send():
            time.sleep(after)
            sent.append(time.perf_counter())
            os.kill(os.getpid(), number)

        sender = threading.Thread(target=send)
        sender.start()
        try:
            with self.assertRaises(expected):
                call()
                time.sleep(10)
            return time.perf_counter() - sent[0]
        finally:
            sender.join()

    def check_soon(self, call, **arguments):
        best = float("inf")
        for _ in range(ATTEMPTS):
            best = min(best, self.interrupt(call, **arguments))
            if best < SOON:
                return
        self.fail(f"the run ended {best:.3f} s after the signal")

    def test_loops(self):
        session = colonnade.Session(endless_loop())
        session(**SHORT)
        for call in (
            lambda: session(**LONG),
            lambda: session.run(LONG),
            lambda: session.run(LONG, timeout=1000),
            lambda: session.run(LONG, stop=colonnade.StopSource()),
            lambda: session.run_list(LONG),
        ):
            self.check_soon(call)
        self.assertEqual(session.run(SHORT)["y"], 10)

    def test_columns(self):
        session = colonnade.Session(convolutions())
        image = np.random.default_rng(2).random((1, 64, 448, 448), np.float32)
        expected = session(image)
        out = np.empty_like(expected)

        def often():
            while True:
                session.run([image], out=[out])

        self.check_soon(lambda: [session(image) for _ in range(20)])
        self.check_soon(often)
        np.testing.assert_array_equal(session(image), expected)

    def test_plans(self):
        rng = np.random.default_rng(3)
        weights = [numpy_helper.from_array(rng.random((24, 24, 3, 3), np.float32), f"w{i}") for i in range(300)]
        nodes = [helper.make_node("Conv", [f"t{i}", f"w{i}"], [f"t{i + 1}"], pads=[1, 1, 1, 1]) for i in range(300)]
        tensor = [1, 24, 48, 48]
        model = colonnade.Model(support.model_of(nodes, [("t0", T.FLOAT, tensor)], [("t300", T.FLOAT, tensor)], weights))
        image = np.zeros(tensor, np.float32)
        for call in (lambda: colonnade.Session(model)(image), lambda: colonnade.Session(model).prepare()):
            begin = time.perf_counter()
            call()
            took = time.perf_counter() - begin
            self.check_soon(call, after=took / 4)

    def test_waiting_for_another_threads_run(self):
        session = colonnade.Session(endless_loop(), memory_limit_bytes=1 << 30)  # one run at a time
        stop = colonnade.StopSource()
        other = threading.Thread(target=lambda: self.assertRaises(colonnade.Cancelled, session.run, LONG, stop=stop))
        other.start()
        time.sleep(0.05)
        self.check_soon(lambda: session.run(SHORT))
        with self.assertRaises(colonnade.DeadlineExceeded):
            session.run(SHORT, timeout=0.02)
        stop.request_stop()
        other.join()
        self.assertEqual(session.run(SHORT)["y"], 10)

    def test_other_signals(self):
        class Enough(Exception):
            pass

        def handler(number, frame):
            raise Enough

        session = colonnade.Session(endless_loop())
        before = signal.signal(signal.SIGUSR1, handler)
        try:
            self.check_soon(lambda: session.run(LONG), number=signal.SIGUSR1, expected=Enough)
        finally:
            signal.signal(signal.SIGUSR1, before)

    def test_a_handler_that_lets_the_run_go_on(self):
        session = colonnade.Session(endless_loop())
        seen = []

        def handler(number, frame):
            try:
                session.run(SHORT)
            except colonnade.InvalidArgument as error:
                seen.append(str(error))

        before = signal.signal(signal.SIGUSR1, handler)
        sender = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
        sender.start()
        try:
            with self.assertRaises(colonnade.DeadlineExceeded):
                session.run(LONG, timeout=0.4)
        finally:
            sender.join()
            signal.signal(signal.SIGUSR1, before)
        self.assertEqual(seen, ["the session is in use by the run that a signal's handler interrupts"])
        self.assertEqual(session.run(SHORT)["y"], 10)

    def test_an_event_loop_hears_what_came_meanwhile(self):
        session = colonnade.Session(endless_loop())
        heard = []

        async def main():
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, heard.append, 1)
            sender = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
            sender.start()
            with self.assertRaises(colonnade.DeadlineExceeded):
                session.run(LONG, timeout=0.3)
            sender.join()
            await asyncio.sleep(0.05)

        asyncio.run(main())
        self.assertEqual(heard, [1])

    def test_short_runs_leave_the_wakeup_file_alone(self):
        ends = os.pipe()
        os.set_blocking(ends[1], False)
        session = colonnade.Session(endless_loop())
        before = signal.set_wakeup_fd(ends[1])
        try:
            session.run(SHORT)
            self.assertEqual(signal.set_wakeup_fd(ends[1]), ends[1])
        finally:
            signal.set_wakeup_fd(before)
            for end in ends:
                os.close(end)


if __name__ == "__main__":
    support.main()
