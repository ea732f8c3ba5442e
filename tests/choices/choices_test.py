# SPDX-License-Identifier: Apache-2.0
"""./dev choices: what is timed, and what is made of it."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests" / "support"), str(SOURCE / "bench" / "choices")]

import choices
import suite

TOOL = os.environ["COLONNADE_CHOICES"]
MACHINE = {"cpu": "a processor", "isa": "avx2", "blocking": "1m-near", "threads": 1, "fma_gflops": 100.0, "l2_gbs": 100.0,
           "l3_gbs": 50.0, "dram_gbs": 10.0, "cache_bytes": {"l1": 32e3, "l2": 1e6, "l3": 32e6}}


def alternative(kernel, warm, cold, **fields):
    return {"family": "conv", "kernel": kernel, "encoding": "f32", "products": 1, "weights_bytes": 1e5,
            "once_us": warm, "warm_us": warm, "cold_us": cold, **fields}


def node(*alternatives, flop=1e8, product=True, models=None):
    return {"node": "a node", "models": models or {"net.onnx": 2}, "flop": flop, "tensor_bytes": 2e5, "product": product,
            "alternatives": list(alternatives)}


class Judging(unittest.TestCase):
    def test_regret_is_beside_the_best_in_each_state(self):
        judged = [node(alternative("conv_a", 1200, 1500), alternative("conv_b", 1000, 2000))]
        choices.judge(MACHINE, judged)
        self.assertEqual(judged[0]["chosen"], "conv_a")
        self.assertAlmostEqual(judged[0]["warm"]["regret"], 0.2)
        self.assertEqual(judged[0]["warm"]["best"], "conv_b")
        self.assertEqual(judged[0]["cold"]["regret"], 0)
        self.assertEqual(judged[0]["count"], 2)
        found = choices.summary(judged)
        self.assertAlmostEqual(found["mean_regret"], 0.1)
        self.assertAlmostEqual(found["weighted_regret"], 2700 / 2500 - 1)
        self.assertEqual(found["over_10_percent"], 1)
        self.assertEqual(found["large_products"], 1)
        self.assertAlmostEqual(found["large_product_shares"]["least"], 1e8 / 1500e-6 / 1e9 / 100)
        self.assertAlmostEqual(choices.by_network(judged)["net"]["best_ms"], 2.0)

    def test_the_bound_is_the_longer_of_arithmetic_and_bytes(self):
        one = node(alternative("conv_a", 1, 1))
        bound = lambda state: choices.bound_us(MACHINE, one, one["alternatives"][0], state)
        self.assertAlmostEqual(bound("warm"), 1000)
        one["flop"] = 1e5
        self.assertAlmostEqual(bound("warm"), 3.0)
        self.assertAlmostEqual(bound("cold"), 12.0)

    def test_products_of_bytes_may_take_a_quarter_of_those_of_floats(self):
        one = node(alternative("byte_product", 1, 1), flop=1e9)
        floats = choices.bound_us(MACHINE, one, one["alternatives"][0], "warm")
        one["bytes"] = True
        self.assertAlmostEqual(choices.bound_us(MACHINE, one, one["alternatives"][0], "warm"), floats / 4)

    def test_products_of_bf16_may_take_half_of_those_of_floats(self):
        one = node(alternative("conv_bf16", 1, 1, encoding="bf16"), flop=1e9)
        bound = lambda isa: choices.bound_us({**MACHINE, "isa": isa}, one, one["alternatives"][0], "warm")
        self.assertAlmostEqual(bound("bf16"), bound("avx512") / 2)
        self.assertAlmostEqual(bound("amx"), bound("avx512") / 16)

    def test_what_took_far_longer_was_not_timed_and_is_no_alternative(self):
        slow = {"family": "conv", "kernel": "conv_c", "encoding": "f32", "products": 1, "weights_bytes": 1,
                "once_us": 9000}
        judged = [node(alternative("conv_a", 1000, 1000), slow)]
        choices.judge(MACHINE, judged)
        self.assertEqual(judged[0]["warm"]["regret"], 0)


class Tool(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        command = [sys.executable, "-B", str(SOURCE / "bench" / "choices" / "choices.py"), "--tool", TOOL, "--seconds",
                   "0.001", "--blocking", "2m-far", "embedded:unet", "embedded:digits"]
        cls.report = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)
        cls.text = subprocess.run([*command, "--rows", "3"], capture_output=True, text=True, check=True).stdout

    def test_every_convolution_and_product_is_timed_once(self):
        self.assertEqual(self.report["machine"]["blocking"], "2m-far")
        self.assertEqual(self.report["machine"]["nodes"], len(self.report["nodes"]))
        self.assertEqual(set(self.report["networks"]), {"unet", "digits"})
        names = [node["node"] for node in self.report["nodes"]]
        self.assertEqual(len(set(names)), len(names))
        self.assertTrue(any(name.startswith("MatMul") or name.startswith("Conv") for name in names))
        for node in self.report["nodes"]:
            for state in choices.STATES:
                self.assertGreater(node[state]["us"], 0)
                self.assertGreaterEqual(node[state]["regret"], 0)
                self.assertGreater(node[state]["bound_share"], 0)

    def test_a_convolution_has_several_ways(self):
        ways = {alternative["family"] for node in self.report["nodes"] if node["node"].startswith("Conv kernel=3x3")
                for alternative in node["alternatives"]}
        self.assertLessEqual({"conv", "winograd"}, ways)

    def test_bf16_is_a_way_where_it_is_asked_for_and_there(self):
        encodings = lambda *words: {alternative["encoding"] for line in subprocess.run(
            [TOOL, "--seconds", "0.001", *words, "embedded:unet"], check=True, capture_output=True,
            text=True).stdout.splitlines()[1:] for alternative in json.loads(line)["alternatives"]}
        self.assertNotIn("bf16", encodings())
        self.assertEqual("bf16" in encodings("--math", "bf16"), self.report["machine"]["isa"] in ("bf16", "amx"))

    def test_products_of_bytes_have_several_ways_too(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "unet8.onnx"
            subprocess.run([os.environ["COLONNADE_CLI"], "quantize", SOURCE / "models" / "embedded" / "unet.onnx", "-o",
                            file, "--random"], check=True, capture_output=True)
            lines = subprocess.run([TOOL, "--seconds", "0.001", file], check=True, capture_output=True, text=True).stdout
        nodes = [json.loads(line) for line in lines.splitlines()[1:]]
        bytes_alone = [node for node in nodes if node["bytes"]]
        self.assertTrue(bytes_alone)
        self.assertEqual({node["node"].startswith("Byte") for node in bytes_alone}, {True})
        ways = {alternative["family"] for node in bytes_alone for alternative in node["alternatives"]}
        self.assertLessEqual({"byte_conv", "byte_winograd"}, ways)

    def test_the_table_says_what_was_found(self):
        for words in ("blocking 2m-far", "share of bound", "regret", "unet", "digits"):
            self.assertIn(words, self.text)

    def test_a_model_that_cannot_be_read_is_said(self):
        done = subprocess.run([TOOL, "nowhere.onnx"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("nowhere.onnx", done.stderr)


if __name__ == "__main__":
    suite.main()
