# SPDX-License-Identifier: Apache-2.0
"""What colonnade.ray's replicas do without Ray: cores of their own, and requests that run together."""
from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import types
import unittest

import support

support.need("colonnade", "numpy")

import numpy as np  # noqa: E402

import colonnade  # noqa: E402
from colonnade import _batches, _cores  # noqa: E402
from colonnade._cores import Core  # noqa: E402

# Two nodes of two L3 domains of four cores of two processors.
MACHINE = [Core((i, i + 16), i // 4, i // 8) for i in range(16)]


def numbers(cores):
    return [core.processors[0] for core in cores]


class Choice(unittest.TestCase):
    def choose(self, count, taken=()):
        return numbers(_cores.choose(MACHINE, [core for core in MACHINE if core.processors[0] not in taken], count))

    def test_cores_of_one_domain_or_node(self):
        self.assertEqual(self.choose(3), [0, 1, 2])
        self.assertEqual(self.choose(2, taken=[4]), [5, 6], "whole domains are left to those that need them")
        self.assertEqual(self.choose(4, taken=[0, 4]), [8, 9, 10, 11])
        self.assertEqual(self.choose(6, taken=[0]), [1, 2, 3, 4, 5, 6], "of one node")
        self.assertEqual(len(self.choose(12)), 12)
        self.assertEqual(self.choose(12, taken=[0, 1, 2, 3, 4]), [])

    def test_whole_nodes(self):
        self.assertEqual(self.choose(_cores.NODE), list(range(8)))
        self.assertEqual(self.choose(_cores.NODE, taken=[3]), list(range(8, 16)))
        self.assertEqual(self.choose(_cores.NODE, taken=[3, 9]), [])


# Prints the processors of a new thread, then waits.
KEEPER = """
import os, sys, threading
from colonnade import _cores
kept = _cores.keep(int(sys.argv[1]))
found = []
thread = threading.Thread(target=lambda: found.append(sorted(os.sched_getaffinity(0))))
thread.start()
thread.join()
print(len(kept), *found[0], flush=True)
sys.stdin.read()
"""


class Keeping(unittest.TestCase):
    def keeper(self, count):
        process = subprocess.Popen([sys.executable, "-c", KEEPER, str(count)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        kept, *processors = map(int, process.stdout.readline().split())
        return process, kept, set(processors)

    def test_processes_keep_apart(self):
        machine = colonnade.describe_machine()
        if machine["physical_cores"] < 2 or machine["cpu_quota"] > 0:
            self.skipTest("needs two cores without a quota")
        everything = os.sched_getaffinity(0)
        cores = machine["physical_cores"]
        first, kept, processors = self.keeper(1)
        if kept == 0:
            self.skipTest("others keep to all cores")
        _, others, rest = self.keeper(cores - 1)
        self.assertEqual((kept, others), (1, cores - 1))
        self.assertTrue(processors.isdisjoint(rest))
        _, kept, shared = self.keeper(1)
        self.assertEqual((kept, shared), (0, everything), "there is none left")
        first.communicate()
        _, kept, again = self.keeper(1)
        self.assertEqual((kept, again), (1, processors), "who ended lets go")


class Batches(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.session = colonnade.Session(str(support.MODELS / "digits.onnx"))
        random = np.random.default_rng(1)
        self.images = [random.random((1, 1, 28, 28), np.float32) for _ in range(12)]
        self.alone = [self.session.run({"image": image})["probabilities"] for image in self.images]

    def line(self, largest, faster=True):
        """A model whose runs take as long alone as together, and a list of the samples of its runs."""
        runs = []

        class Timed:
            inputs, outputs = self.session.inputs, self.session.outputs

            async def run_async(_, feeds):
                count = len(feeds["image"])
                runs.append(count)
                await asyncio.sleep(0.02 if faster else 0.02 * count)
                return self.session.run(feeds)

        return _batches.Line(Timed(), largest), runs

    async def ask_all(self, line):
        answers = await asyncio.gather(*(line.run({"image": image}) for image in self.images))
        for answer, alone in zip(answers, self.alone):
            np.testing.assert_array_equal(answer["probabilities"], alone)

    async def test_requests_that_wait_run_together(self):
        line, runs = self.line(8)
        for _ in range(6):
            await self.ask_all(line)
        self.assertEqual(runs[:5], [1, 1, 1, 1, 2], "what pays is measured first")
        self.assertEqual(line.worth_merging(), 8)
        self.assertIn(8, runs)
        self.assertLessEqual(set(runs), {1, 2, 4, 8})

    async def test_batches_that_do_not_pay_end(self):
        line, runs = self.line(8, faster=False)
        await self.ask_all(line)
        await self.ask_all(line)
        self.assertEqual(line.worth_merging(), 1)
        self.assertEqual(runs.count(2), _batches._TRIALS)

    async def test_one_that_fails_alone_fails_alone(self):
        line, runs = self.line(4)
        await self.ask_all(line)
        images = [self.images[0], np.zeros((1, 1, 5, 5), np.float32), np.zeros((2, 1, 28, 28), np.float32), self.images[1]]
        asked = [line.run({"image": image}) for image in images] + [line.run({"other": self.images[0]})]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        np.testing.assert_array_equal(answers[0]["probabilities"], self.alone[0])
        np.testing.assert_array_equal(answers[3]["probabilities"], self.alone[1])
        self.assertEqual(answers[2]["probabilities"].shape, (2, 10))
        self.assertIsInstance(answers[1], colonnade.ColonnadeError)
        self.assertIsInstance(answers[4], Exception)

    async def test_a_batch_that_fails_is_run_one_by_one(self):
        line, runs = self.line(2)
        await self.ask_all(line)
        run = line._session.run_async

        async def refuses_batches(feeds):
            if len(feeds["image"]) > 1:
                raise colonnade.ResourceLimit("too large")
            return await run(feeds)

        line._session.run_async = refuses_batches
        await self.ask_all(line)

    async def test_who_has_left_is_not_run(self):
        line, runs = self.line(1)
        first, second = (asyncio.create_task(line.run({"image": image})) for image in self.images[:2])
        await asyncio.sleep(0)
        second.cancel()
        await first
        await asyncio.sleep(0.05)
        self.assertEqual(runs, [1])

    async def test_models_without_an_axis_of_samples(self):
        def session(inputs, outputs):
            infos = [[types.SimpleNamespace(shape=shape) for shape in shapes] for shapes in (inputs, outputs)]
            return types.SimpleNamespace(inputs=infos[0], outputs=infos[1])

        self.assertTrue(_batches.has_batch_axis(self.session))
        self.assertTrue(_batches.has_batch_axis(session([("N", 3)], [("N",)])))
        for inputs, outputs in [([(1, 3)], [(1, 3)]), ([("batch", 3)], [("boxes", 4)]), ([("tokens",)], [("tokens",)]),
                                ([()], [()]), ([None], [None]), ([("batch",), (4,)], [("batch",)])]:
            self.assertFalse(_batches.has_batch_axis(session(inputs, outputs)), (inputs, outputs))


if __name__ == "__main__":
    support.main()
