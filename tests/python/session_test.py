# SPDX-License-Identifier: Apache-2.0
"""Runs: names, errors, threads, processes, tasks, limits."""
import asyncio
import concurrent.futures
import inspect
import json
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import support

support.need("colonnade", "numpy", "onnx")

import numpy as np
from onnx import TensorProto as T
from onnx import helper

import colonnade

DIGITS = support.MODELS / "digits.onnx"


def images(count=1, seed=1):
    return np.random.default_rng(seed).random((count, 1, 28, 28), np.float32)


def two_outputs():
    """sum = a + b and difference = a - b, of any length."""
    return support.model_of(
        [helper.make_node("Add", ["a", "b"], ["sum"]), helper.make_node("Sub", ["a", "b"], ["difference"])],
        [("a", T.FLOAT, ["N"]), ("b", T.FLOAT, ["N"])],
        [("sum", T.FLOAT, ["N"]), ("difference", T.FLOAT, ["N"])],
    )


def endless_loop():
    """Counts as often as `trips` says, which takes long."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["c_out"]), helper.make_node("Add", ["s", "one"], ["s_out"])],
        "body",
        [helper.make_tensor_value_info(n, t, []) for n, t in (("i", T.INT64), ("c", T.BOOL), ("s", T.FLOAT))],
        [helper.make_tensor_value_info(n, t, []) for n, t in (("c_out", T.BOOL), ("s_out", T.FLOAT))],
    )
    one = helper.make_tensor("one", T.FLOAT, [], [1.0])
    return support.model_of(
        [helper.make_node("Loop", ["trips", "", "zero"], ["y"], body=body)],
        [("trips", T.INT64, []), ("zero", T.FLOAT, [])],
        [("y", T.FLOAT, [])],
        [one],
    )


LONG = {"trips": np.array(10**9), "zero": np.array(0, np.float32)}
SHORT = {"trips": np.array(10), "zero": np.array(0, np.float32)}


class Calls(unittest.TestCase):
    def setUp(self):
        self.session = colonnade.Session(two_outputs())
        self.a = np.array([1, 2, 3], np.float32)
        self.b = np.array([10, 20, 30], np.float32)

    def check(self, total, difference):
        self.assertEqual(total.tolist(), [11, 22, 33])
        self.assertEqual(difference.tolist(), [-9, -18, -27])

    def test_ways_to_call(self):
        a, b, session = self.a, self.b, self.session
        self.check(*session(a, b))
        self.check(*session(a, b=b))
        self.check(*session(b=b, a=a))
        self.check(*session.run_list([a, b]))
        self.check(*session.run_list({"b": b, "a": a}))
        result = session.run({"a": a, "b": b})
        self.assertEqual(list(result), ["sum", "difference"])
        self.check(**{"total": result["sum"], "difference": result["difference"]})
        import types

        self.assertEqual(list(session.run(types.MappingProxyType({"a": a, "b": b}))), ["sum", "difference"])

    def test_chosen_outputs(self):
        feeds = [self.a, self.b]
        self.assertEqual(list(self.session.run(feeds, "difference")), ["difference"])
        self.assertEqual(list(self.session.run(feeds, ["difference", "sum"])), ["difference", "sum"])
        difference, total = self.session.run_list(feeds, ("difference", "sum"))
        self.check(total, difference)
        memory = np.zeros(3, np.float32)
        result = self.session.run(feeds, out={"sum": memory})
        self.assertIs(result["sum"], memory)
        self.check(memory, result["difference"])

    def test_names(self):
        a, b = self.a, self.b
        for feeds, message in (
            ({"a": a}, "input 'b' is missing"),
            ({"a": a, "c": b}, "no input 'c'; there are: a, b"),
            ({"a": a, "b": b, 3: b}, "no input 3; there are: a, b"),
            ([a], "input 'b' is missing"),
            ([a, b, b], "expected 2 inputs, found 3"),
            (a, "feeds: expected a dict by name or a list in the order of the inputs, found numpy.ndarray"),
        ):
            with self.assertRaisesRegex(colonnade.InvalidArgument, message):
                self.session.run(feeds)
        with self.assertRaisesRegex(colonnade.InvalidArgument, "no output 'c'; there are: sum, difference"):
            self.session.run([a, b], ["c"])
        with self.assertRaisesRegex(colonnade.InvalidArgument, "input 'a' is given by place and by name"):
            self.session(a, b, a=a)

    def test_changing_shapes(self):
        for count in (3, 1, 0, 7, 3):
            a = np.arange(count, dtype=np.float32)
            np.testing.assert_array_equal(self.session(a, a)[0], a + a)

    def test_errors_leave_the_session_usable(self):
        with self.assertRaises(colonnade.InvalidInput):
            self.session(self.a.astype(np.float64), self.b)
        with self.assertRaises(colonnade.ColonnadeError):
            self.session(self.a, self.b[:2])
        with self.assertRaisesRegex(colonnade.InvalidInput, r"input 'a': expected shape \[-1\], found \[1,3\]"):
            self.session(self.a[None], self.b)
        self.check(*self.session(self.a, self.b))

    def test_shapes(self):
        self.assertEqual(self.session.output_shapes({"a": (5,), "b": (5,)}), {"sum": (5,), "difference": (5,)})
        self.session.prepare({"a": [4], "b": [4]})
        self.assertGreaterEqual(self.session.stats()["cached_plans"], 1)

    def test_shapes_that_depend_on_data(self):
        model = support.model_of([helper.make_node("NonZero", ["x"], ["y"])], [("x", T.FLOAT, [4])], [("y", T.INT64, [1, "K"])])
        session = colonnade.Session(model)
        for value in ([0, 1, 0, 2], [0, 0, 0, 0], [1, 1, 1, 1]):
            value = np.array(value, np.float32)
            result = session(value)
            np.testing.assert_array_equal(result, np.stack(np.nonzero(value)))
            self.assertTrue(result.flags.writeable)
        memory = np.zeros((1, 2), np.int64)
        self.assertIs(session.run([np.array([0, 1, 0, 2], np.float32)], out=[memory])["y"], memory)
        self.assertEqual(memory.tolist(), [[1, 3]])


class Numbers(unittest.TestCase):
    def test_profile_and_trace(self):
        session = colonnade.Session(DIGITS)
        session.set_profiling(True)
        session(images())
        profile, trace = session.profile(), session.trace()
        self.assertTrue(profile["operators"])
        json.dumps(trace)
        events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        names = {event["tid"]: event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"}
        self.assertEqual({"name", "ph", "ts", "dur"} - set(events[0]), set())
        self.assertEqual(min(event["ts"] for event in events), 0)
        self.assertLess(max(event["ts"] for event in events), 60e6)
        self.assertEqual({event["pid"] for event in trace["traceEvents"]}, {os.getpid()})
        self.assertTrue({event["tid"] for event in events} <= set(names))
        self.assertEqual(names[0], "thread 0 of the plan")

    def test_memory(self):
        session = colonnade.Session(DIGITS)
        session(images())
        before = session.memory_stats()
        self.assertEqual(set(before), {"weights_bytes", "arena_bytes", "plan_bytes", "plans"})
        self.assertEqual(before["plans"], 1)
        session.shrink()
        self.assertEqual(session.memory_stats()["plans"], 0)
        session(images())


    def test_what_it_says_of_itself(self):
        session = colonnade.Session(two_outputs())
        self.assertEqual(repr(session), "<colonnade.Session of 'model': 2 inputs, 2 outputs>")
        self.assertEqual([info.name for info in session.inputs], ["a", "b"])
        self.assertEqual([info.name for info in session.outputs], ["sum", "difference"])
        for method in (colonnade.Session.run, colonnade.Session.run_list, session.run):
            names = [name for name in inspect.signature(method).parameters if name != "self"]
            self.assertEqual(names, ["feeds", "outputs", "out", "stop", "timeout", "loop_limit"])
        self.assertIn("StopSource", colonnade.Session.run.__doc__)
        with self.assertRaises(TypeError):
            session.run(*range(30))

    def test_with(self):
        with colonnade.Session(DIGITS) as session:
            self.assertEqual(session(images()).shape, (1, 10))
        for call in (lambda: session(images()), session.stats, session.prepare, session.trace):
            with self.assertRaisesRegex(colonnade.InvalidArgument, "the session is closed"):
                call()
        session.close()
        with self.assertRaisesRegex(colonnade.InvalidArgument, "the session is closed"):
            asyncio.run(session.run_async([images()]))
        self.assertEqual(session.model.inputs[0].name, "image")


class Limits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.session = colonnade.Session(endless_loop())

    def tearDown(self):
        self.assertEqual(self.session.run(SHORT)["y"], 10)

    def test_stop(self):
        stop = colonnade.StopSource()
        self.assertFalse(stop.stop_requested)
        threading.Timer(0.1, stop.request_stop).start()
        with self.assertRaises(colonnade.Cancelled):
            self.session.run(LONG, stop=stop)
        self.assertTrue(stop.stop_requested)
        with self.assertRaises(colonnade.Cancelled):
            self.session.run(SHORT, stop=stop)

    def test_timeout(self):
        with self.assertRaises(colonnade.DeadlineExceeded) as caught:
            self.session.run(LONG, timeout=0.1)
        self.assertIsInstance(caught.exception, TimeoutError)
        self.assertEqual(self.session.run(SHORT, timeout=1e30)["y"], 10)
        for wrong in (-1.0, float("nan")):
            with self.assertRaisesRegex(colonnade.InvalidArgument, "timeout: expected seconds of at least 0"):
                self.session.run(SHORT, timeout=wrong)

    def test_loop_limit(self):
        with self.assertRaises(colonnade.ResourceLimit):
            self.session.run(LONG, loop_limit=1000)
        self.assertEqual(self.session.run(SHORT, loop_limit=10)["y"], 10)


class Tasks(unittest.IsolatedAsyncioTestCase):
    async def test_results(self):
        session = colonnade.Session(two_outputs())
        a = np.arange(4, dtype=np.float32)
        for _ in range(2):
            result = await session.run_async({"a": a, "b": a})
            np.testing.assert_array_equal(result["sum"], a + a)
        memory = np.zeros(4, np.float32)
        result = await session.run_async([a, a], "sum", out={"sum": memory})
        self.assertIs(result["sum"], memory)

    async def test_many_at_once(self):
        session = colonnade.Session(two_outputs())
        feeds = [np.full(3, i, np.float32) for i in range(100)]
        results = await asyncio.gather(*(session.run_async([a, a]) for a in feeds))
        for a, result in zip(feeds, results):
            np.testing.assert_array_equal(result["sum"], a + a)

    async def test_errors(self):
        session = colonnade.Session(two_outputs())
        with self.assertRaisesRegex(colonnade.InvalidArgument, "input 'a' is missing"):
            await session.run_async({})
        a = np.zeros(3, np.float32)
        await session.run_async([a, a])
        with self.assertRaisesRegex(colonnade.InvalidInput, "found float64"):
            await session.run_async([a, a.astype(np.float64)])

    async def test_the_loop_goes_on_and_cancelling_ends_the_run(self):
        session = colonnade.Session(endless_loop())
        task = asyncio.ensure_future(session.run_async(LONG))
        ticks = 0
        for _ in range(10):
            await asyncio.sleep(0.01)
            ticks += 1
        self.assertFalse(task.done())
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        result = await asyncio.wait_for(session.run_async(SHORT), 30)  # the session is free again
        self.assertEqual(result["y"], 10)
        with self.assertRaises(colonnade.DeadlineExceeded):
            await session.run_async(LONG, timeout=0.05)


class Started(unittest.TestCase):
    """What run_async stands on: runs whose end a thread of the library tells."""

    def start(self, session, a, told, **limits):
        def done(result, error):
            told.append((result, error))
            over.set()

        over = threading.Event()
        arguments = {"outputs": None, "out": None, "stop": None, "timeout": None, "loop_limit": 0, **limits}
        return over if session._start([a, a], done=done, **arguments) else None

    def test_only_where_nothing_is_waited_for(self):
        session = colonnade.Session(two_outputs())
        a, told = np.ones(3, np.float32), []
        self.assertIsNone(self.start(session, a, told))  # there is no plan yet
        session(a, a)
        over = self.start(session, a, told)
        self.assertTrue(over.wait(30))
        self.assertIsNone(told[0][1])
        self.assertEqual(told[0][0]["sum"].tolist(), [2, 2, 2])
        stop = colonnade.StopSource()
        stop.request_stop()
        self.start(session, a, told, stop=stop).wait(30)
        self.assertIsInstance(told[1][1], colonnade.Cancelled)

    def test_a_session_that_nobody_else_holds(self):
        a, told = np.ones(3, np.float32), []
        for _ in range(20):
            session = colonnade.Session(two_outputs())
            session(a, a)
            over = self.start(session, a, told)
            del session
            self.assertTrue(over.wait(30))
        self.assertEqual([error for _, error in told], [None] * 20)

    def test_the_interpreter_ends_before_the_run(self):
        program = textwrap.dedent(
            """
            import numpy as np, sys, colonnade
            session = colonnade.Session(sys.argv[1])
            image = np.zeros((64, 1, 28, 28), np.float32)
            session(image)
            for _ in range(20):
                session._start([image], None, None, None, None, 0, lambda result, error: None)
            """
        )
        for _ in range(3):
            result = subprocess.run([sys.executable, "-c", program, str(DIGITS)], capture_output=True, text=True, timeout=60)
            self.assertEqual((result.returncode, result.stderr), (0, ""))


class Threads(unittest.TestCase):
    def test_a_session_a_thread(self):
        model = colonnade.Model(DIGITS, threads=1)
        expected = colonnade.Session(model)(images(4))

        def work(_):
            session = colonnade.Session(model)
            return all(np.array_equal(session(images(4)), expected) for _ in range(20))

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertTrue(all(pool.map(work, range(8))))

    def test_one_session_for_all(self):
        session = colonnade.Session(DIGITS, threads=2)
        expected = {count: session(images(count)).copy() for count in range(1, 5)}

        def work(index):
            for step in range(30):
                count = (index + step) % 4 + 1
                if not np.array_equal(session(images(count)), expected[count]):
                    return False
            return True

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertTrue(all(pool.map(work, range(8))))

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one processor")
    def test_runs_at_the_same_time(self):
        session = colonnade.Session(endless_loop())
        stop = colonnade.StopSource()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            run = pool.submit(session.run, LONG, stop=stop)
            time.sleep(0.1)
            try:
                for _ in range(3):
                    self.assertEqual(session.run(SHORT, timeout=30)["y"], 10)
                self.assertFalse(run.done())
            finally:
                stop.request_stop()
            with self.assertRaises(colonnade.Cancelled):
                run.result(30)
        self.assertEqual(session.run(SHORT)["y"], 10)
        session.shrink()
        self.assertEqual(session.memory_stats()["plans"], 0)

    def test_one_after_another(self):
        """With a memory limit, which is for all, and while times are collected."""
        for options, profiling in (({"memory_limit_bytes": 1 << 30}, False), ({}, True)):
            session = colonnade.Session(endless_loop(), **options)
            session.set_profiling(profiling)
            stop = colonnade.StopSource()
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                run = pool.submit(session.run, LONG, stop=stop)
                time.sleep(0.1)
                try:
                    with self.assertRaises(colonnade.DeadlineExceeded):
                        session.run(SHORT, timeout=0.1)
                finally:
                    stop.request_stop()
                with self.assertRaises(colonnade.Cancelled):
                    run.result(30)
            self.assertEqual(session.run(SHORT)["y"], 10)

    def test_closing_waits_for_runs(self):
        session = colonnade.Session(DIGITS, threads=1)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            runs = [pool.submit(session, images(8)) for _ in range(40)]
            runs[0].result(30)
            session.close()
            for run in runs:
                try:
                    self.assertEqual(run.result(30).shape, (8, 10))
                except colonnade.InvalidArgument as error:
                    self.assertEqual(str(error), "the session is closed")

    def test_other_threads_go_on(self):
        session = colonnade.Session(endless_loop())
        stop = colonnade.StopSource()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            run = pool.submit(session.run, LONG, stop=stop)
            for _ in range(5):
                time.sleep(0.01)  # would not come back while the engine had the GIL
            self.assertFalse(run.done())
            stop.request_stop()
            with self.assertRaises(colonnade.Cancelled):
                run.result(30)


def _run_in_child(queue, session):
    own = colonnade.Session(DIGITS, threads=2)
    queue.put((own(images()), session(images())))


class Processes(unittest.TestCase):
    def test_fork_after_runs(self):
        """A session of the parent, whose threads do not exist in the child, works there as well."""
        session = colonnade.Session(DIGITS, threads=2)
        expected = session(images(3))[:1]
        expected_one = session(images())
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=_run_in_child, args=(queue, session))
        child.start()
        own, inherited = queue.get(timeout=60)
        child.join(60)
        self.assertEqual(child.exitcode, 0)
        np.testing.assert_array_equal(own, expected_one)
        np.testing.assert_array_equal(inherited, expected_one)
        self.assertEqual(expected.shape, (1, 10))


if __name__ == "__main__":
    support.main()
