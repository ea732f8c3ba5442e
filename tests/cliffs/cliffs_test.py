# SPDX-License-Identifier: Apache-2.0
"""./dev cliffs: every operator has a case, wrong answers are named, and what is made of the times. Needs no other engine."""
import importlib.util
import json
import math
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests" / "support"), str(SOURCE / "bench" / "cliffs")]

import suite

if not all(importlib.util.find_spec(name) for name in ("numpy", "onnx")):
    suite.skip("no numpy or no onnx")

import numpy as np
import onnx

import cases
import compare
import table
from case import case, x


def operators():
    """Domain and name of every operator that is read."""
    found, domain = set(), ""
    for line in (SOURCE / "OPERATORS.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if line.startswith("## "):
            domain = line[3:].strip()
        elif len(cells) > 5 and cells[2][:1].isdigit():
            found.add((domain, cells[1]))
    return found


def row(name, ours, theirs, threads=1, **fields):
    return table.Row("machine", name, "digest", "1", "1", threads, our_us=ours, their_us=theirs, **fields)


class Cases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cases = cases.all_cases()

    def test_every_operator_has_a_case_or_a_reason(self):
        read = operators()
        self.assertGreater(len(read), 300)
        timed = {(each.domain or "ai.onnx", each.operator) for each in self.cases}
        self.assertEqual(read - timed - set(cases.LEFT_OUT), set(), "operators without a row in bench/cliffs/cases")
        self.assertEqual(timed - read, set(), "cases of operators that are not read")
        self.assertEqual(timed & set(cases.LEFT_OUT), set(), "operators that have cases and are left out")
        self.assertEqual(set(cases.LEFT_OUT) - read, set(), "operators left out that are not read")

    def test_names_tell_cases_apart(self):
        names = [each.name for each in self.cases]
        self.assertEqual(len(names), len(set(names)))

    def test_models_have_one_node_and_inputs_for_it(self):
        for each in self.cases:
            model = onnx.load_from_string(each.model())
            self.assertEqual(len(model.graph.node), 1, each.name)
            self.assertEqual({info.name for info in model.graph.input}, set(each.feeds()), each.name)

    def test_inputs_are_always_the_same(self):
        one = case("Relu", "a form", x(3, 4))
        np.testing.assert_array_equal(one.feeds()["x0"], one.feeds()["x0"])
        other = case("Relu", "another form", x(3, 4))
        self.assertFalse(np.array_equal(one.feeds()["x0"], other.feeds()["x0"]))


class Comparison(unittest.TestCase):
    PLAIN = case("Relu", "a form", x(2))

    def differs(self, ours, theirs, **fields):
        return compare.difference(case("Relu", "a form", x(2), **fields), [np.array(ours)], [np.array(theirs)])

    def test_tolerance_is_of_the_largest(self):
        numbers = np.array([1, 1000], np.float32)
        self.assertEqual(self.differs(numbers + np.float32(0.05), numbers), "")
        self.assertIn("off by", self.differs(numbers + np.float32(0.5), numbers))
        self.assertEqual(self.differs(numbers + np.float32(0.5), numbers, error=1e-3), "")

    def test_integers_agree_exactly(self):
        self.assertIn("off by 1", self.differs([1, 2], [1, 3]))
        self.assertEqual(self.differs([1, 200], [1, 201], error=0.01), "")

    def test_shapes_types_and_what_is_no_number_count(self):
        self.assertIn("shape", self.differs([1], [1, 2]))
        self.assertIn("not float64", self.differs(np.float32([1]), np.float64([1])))
        self.assertEqual(self.differs([math.nan, math.inf], [math.nan, math.inf]), "")
        self.assertIn("NaN", self.differs([0.0, math.inf], [math.nan, math.inf]))
        self.assertIn("NaN", self.differs([math.nan, 1.0], [0.0, 1.0]))
        self.assertIn("text", self.differs(["a"], ["b"]))

    def test_sequences_and_maps_are_walked(self):
        one, two = np.float32([1]), np.float32([2])
        same = lambda a, b: compare.difference(self.PLAIN, [a], [b])
        self.assertEqual(same([one, two], [one, two]), "")
        self.assertIn("length", same([one], [one, two]))
        self.assertIn("off by", same([one, one], [one, two]))
        self.assertIn("keys", same([{1: 1.0}], [{2: 1.0}]))
        self.assertIn("off by", same([{1: 1.0}], [{1: 3.0}]))


class Table(unittest.TestCase):
    ROWS = [row("level", 10, 10), row("level", 10, 15, 2), row("slow", 10, 1, by=["reference"]), row("slow", 10, 4, 2),
            row("broken", math.nan, 5, failure="no kernel"), row("ours alone", 3, math.nan, lacked="no such operator"),
            row("fast but wrong", 1, 100, wrong="off by 3")]

    def test_the_lowest_ratio_comes_first(self):
        names = [line[0] for line in table.lines(self.ROWS)]
        self.assertEqual(names, ["case", "broken", "slow", "level", "fast but wrong", "ours alone"])

    def test_below_keeps_what_is_wrong(self):
        self.assertEqual([line[0] for line in table.lines(self.ROWS, 0.8)][1:], ["broken", "slow", "fast but wrong"])

    def test_sums_count_failures_and_leave_them_out_of_the_mean(self):
        one, two = table.summaries(self.ROWS)
        mean = table.number((1.0 * 0.1 * 100) ** (1 / 3))
        self.assertIn(f"mean {mean} of 3 rows, 2 below 0.8, 2 below 1.0, 1 failed, 1 wrong, 1 with work", one)
        self.assertIn("1 that ONNX Runtime lacks", one)
        self.assertIn("of 2 rows, 1 below 0.8, 1 below 1.0", two)

    def test_operators_have_the_lowest_of_their_cases(self):
        rows = [row("Slow 1", 10, 5, by=["typed"]), row("Slow 2", 10, 20, by=["typed"]), row("Quick 1", 10, 40)]
        head, slow, quick = table.by_operator(rows)
        self.assertEqual(slow, ["Slow", "2", "0.5", "1", "typed"])
        self.assertEqual(quick[:4], ["Quick", "1", "4", "4"])
        self.assertEqual(len(head), len(slow))

    def test_markdown_has_a_cell_a_column(self):
        lines = [line for line in table.markdown([row("a|b", 2, 1)]).splitlines() if line.startswith("|")]
        self.assertEqual(len(lines), 6)
        self.assertEqual({line.count("|") for line in lines[:3]}, {lines[0].count("|")})
        self.assertEqual({line.count("|") for line in lines[3:]}, {lines[3].count("|")})


class Worker(unittest.TestCase):
    """Our own engine, as the tool drives it."""

    def ask(self, *commands):
        worker = [sys.executable, "-B", str(SOURCE / "bench" / "cliffs" / "worker.py"), "colonnade"]
        done = subprocess.run(worker, input="\n".join(commands) + "\n", capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_a_case_is_run_and_said_by_what(self):
        if importlib.util.find_spec("colonnade") is None:
            self.skipTest("the Python package is not built")
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "outputs")
            replies = self.ask("load 1 Relu 1x1000", f"output {file}", "run 0.001", "ran", "load 1 Nothing")
            outputs = pickle.loads(pathlib.Path(file).read_bytes())
        self.assertEqual(replies[0], {})
        numbers = next(each for each in cases.all_cases() if each.name == "Relu 1x1000").feeds()["x0"]
        np.testing.assert_array_equal(outputs[0], np.maximum(numbers, 0))
        self.assertGreater(min(replies[2]["ns"]), 0)
        self.assertEqual(len(replies[3]["by"]), 1)
        self.assertIn("KeyError", replies[4]["error"])


if __name__ == "__main__":
    suite.main()
