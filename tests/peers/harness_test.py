# SPDX-License-Identifier: Apache-2.0
"""The parts of ./dev peers that need no other engine."""
import array
import json
import math
import os
import pathlib
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests" / "support"), str(SOURCE / "bench" / "peers"), str(SOURCE / "bench" / "overhead")]

import environment
import peers
import report
import start
import suite
from process import EngineFailed, Process
from rows import Row, RowStore, summarise

try:
    import numpy
    import worker
    from check import relative_error
except ImportError:
    numpy = None

MACHINE = {"cpu": "A <fast> & small CPU", "isa": "AVX2", "caches": "L1 32K", "cores": 2, "processors": 4,
           "date": "2026-11-21"}


def row(engine, ms, model="resnet18", threads=1, **fields):
    return Row("machine", model, "digest", engine, "1", threads, ms=ms, peak_mb=fields.pop("peak_mb", 10.0), load_ms=5.0,
               **fields)


class Start(unittest.TestCase):
    def test_load_and_first_run_count_together(self):
        arguments = start.parse(["--threads", "1"])
        starts = start.Starts(arguments, environment.Subject("net", pathlib.Path("net.onnx"), "0"), 1, pathlib.Path("."))
        starts.times = {"colonnade": [{"load": 5, "first": 2}, {"load": 90, "first": 2}, {"load": 4, "first": 2}],
                        "saved": [{"load": 1, "first": 1}], "onnxruntime": [{"load": 10, "first": 4}]}
        self.assertEqual((starts.ratio("colonnade"), starts.ratio("saved")), (7 / 14, 2 / 14))
        self.assertRegex(starts.line(), r"^net .* 0\.50 +0\.14$")
        self.assertIn("--compiled", starts.command("saved"))
        self.assertNotIn("--compiled", starts.command("colonnade"))


class Statistics(unittest.TestCase):
    def test_rounds_count_equally(self):
        summary = summarise([[1_000_000] * 99, [3_000_000, 5_000_000, 7_000_000], [9_000_000] * 2])
        self.assertEqual(summary["ms"], 5.0)
        self.assertEqual(summary["best_ms"], 1.0)
        self.assertEqual(summary["rounds"], [1.0, 5.0, 9.0])
        self.assertEqual(summary["runs"], 104)

    def test_geometric_mean_skips_what_is_missing(self):
        self.assertAlmostEqual(report.geometric_mean([2.0, 8.0, math.nan]), 4.0)
        self.assertTrue(math.isnan(report.geometric_mean([math.nan])))

    def test_a_failure_of_ours_does_not_better_the_mean(self):
        rows = [row("colonnade", 1.0), row("mnn", 4.0), row("mnn", 9.0, "vgg16"),
                row("colonnade", math.nan, "vgg16", failure="wrong answer"),
                row("colonnade", 1.0, "densenet121"), row("mnn", math.nan, "densenet121", failure="no operator")]
        means = report.means(rows, 1)
        self.assertEqual((means["3x3"], means["all"]), (0, 0))
        self.assertAlmostEqual(means["mixed"], 4.0)
        self.assertIn("all 0.00x", report.terminal(rows))

    def test_failed_rows_are_never_the_best_peer(self):
        rows = {r.engine: r for r in [row("colonnade", 2.0), row("ncnn", 1.0, failure="wrong answer"), row("mnn", 6.0),
                                      row("onnxruntime", 5.0), row("deepsparse", 3.0)]}
        self.assertEqual(report.best_peer(rows).engine, "onnxruntime")
        self.assertEqual(report.speedup(rows), 2.5)
        self.assertEqual(report.speedup(rows, "deepsparse"), 1.5)
        self.assertTrue(math.isnan(report.speedup(rows, "ncnn")))

    def test_bf16_is_compared_with_the_precision_that_openvino_prefers(self):
        rows = [row("colonnade", 5.0), row("colonnade:bf16", 2.0), row("openvino", 3.0), row("openvino:f32", 6.0)]
        self.assertEqual(report.bf16_speedup({r.engine: r for r in rows}), 1.5)
        self.assertEqual(report.means(rows, 1)["bf16 vs OpenVINO default"], 1.5)
        self.assertEqual(report.speedup({r.engine: r for r in rows}), 1.2)
        self.assertIn("1.50x", report.terminal(rows))

    def test_memory_is_compared_with_the_leanest_peer(self):
        rows = {r.engine: r for r in [row("colonnade", 2.0, peak_mb=5.0), row("mnn", 6.0, peak_mb=20.0),
                                      row("ncnn", 5.0, peak_mb=50.0)]}
        self.assertEqual(report.memory_ratio(rows), 0.25)

    def test_means_are_by_group(self):
        rows = [row("colonnade", 1.0), row("mnn", 4.0), row("colonnade", 1.0, "vgg16"), row("mnn", 9.0, "vgg16")]
        means = report.means(rows, 1)
        self.assertEqual(set(means), {"3x3", "mixed", "all"})
        self.assertAlmostEqual(means["3x3"], 9.0)
        self.assertAlmostEqual(means["all"], 6.0)


class Store(unittest.TestCase):
    def test_resumes_and_survives_a_torn_line(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "rows.jsonl"
            store = RowStore(file)
            store.add(row("mnn", 4.0))
            store.add(row("mnn", 3.0))
            store.add(row("ncnn", 2.0))
            with open(file, "a") as torn:
                torn.write('{"machine": "mach')
            again = RowStore(file)
            self.assertEqual(again.find(row("mnn", math.nan)).ms, 3.0)
            self.assertEqual(again.find(row("ncnn", math.nan)).ms, 2.0)
            self.assertIsNone(again.find(row("mnn", math.nan, threads=2)))
            self.assertIsNone(again.find(row("onnxruntime", math.nan)))


class Reports(unittest.TestCase):
    ROWS = [row("colonnade", 2.0), row("onnxruntime", 5.0), row("mnn", math.nan, failure="no <such> operator"),
            row("colonnade", 1.0, threads=2), row("onnxruntime", 4.0, threads=2)]

    def test_terminal_shows_ratios_and_reasons(self):
        text = report.terminal(self.ROWS)
        self.assertIn("2.50x", text)
        self.assertIn("4.00x", text)
        self.assertIn("resnet18 1 mnn: no <such> operator", text)

    def test_svg_is_well_formed(self):
        root = xml.etree.ElementTree.fromstring(report.svg(self.ROWS, MACHINE))
        texts = [element.text for element in root.iter() if element.tag.endswith("text")]
        self.assertIn("resnet18", texts)
        self.assertIn("2.50", texts)

    def test_svg_without_peers_is_well_formed(self):
        xml.etree.ElementTree.fromstring(report.svg([row("colonnade", 2.0)], MACHINE))

    def test_json_has_no_nan(self):
        text = json.dumps(report.as_json(self.ROWS, MACHINE), allow_nan=False)
        first = json.loads(text)["models"][0]
        self.assertEqual((first["best_peer"], first["over_best_peer"]), ("onnxruntime", 2.5))

    def test_markdown_tables_are_rectangular(self):
        lines = [line for line in report.markdown(self.ROWS, MACHINE).splitlines() if line.startswith("|")]
        self.assertEqual(len({line.count("|") for line in lines}), 1)
        self.assertEqual(len(lines), 6)


class Arguments(unittest.TestCase):
    def test_open_dimensions(self):
        self.assertEqual(environment.filled_shape([None, 3, None, None], None), [1, 3, 224, 224])
        self.assertEqual(environment.filled_shape([None, 7], None), [1, 7])
        self.assertEqual(environment.filled_shape([None, 7], [4, 7]), [4, 7])

    def test_parse(self):
        parsed = peers.parse(["vgg16", "--engines", "mnn", "--cores", "0,1", "--shape", "x:1x3", "--schedules"])
        self.assertEqual(parsed.threads, [1, 2])
        self.assertEqual(parsed.shape, [("x", [1, 3])])
        self.assertEqual(parsed.engines, ["mnn", *peers.SCHEDULES])


class Models(unittest.TestCase):
    def test_one_that_cannot_be_measured_does_not_keep_others_from_it(self):
        class Campaign:
            measured = []

            def measure_model(self, file):
                if file.stem == "odd":
                    raise environment.Refused("odd: no reference")
                self.measured.append(file.stem)

        files = [pathlib.Path(name) for name in ("a.onnx", "odd.onnx", "b.onnx")]
        self.assertEqual(peers.measure_all(Campaign(), files), ["odd: no reference"])
        self.assertEqual(Campaign.measured, ["a", "b"])


@unittest.skipUnless(numpy, "needs NumPy")
class Check(unittest.TestCase):
    def test_measures_against_the_largest_reference(self):
        reference = [numpy.array([[1.0, -4.0]], dtype=numpy.float32)]
        self.assertEqual(relative_error([numpy.array([1.5, -4.0])], reference), 0.125)

    def test_outputs_close_to_zero_are_not_magnified(self):
        self.assertAlmostEqual(relative_error([numpy.array([3e-6])], [numpy.array([1e-6])]), 2e-3)
        self.assertAlmostEqual(relative_error([numpy.array([0.5])], [numpy.array([0.0])]), 500)

    def test_wrong_size_count_and_nan_are_infinitely_wrong(self):
        reference = [numpy.array([1.0, 2.0])]
        for outputs in ([], [numpy.array([1.0])], [numpy.array([1.0, math.nan])], [numpy.array([1.0, math.inf])]):
            self.assertEqual(relative_error(outputs, reference), math.inf)


class Processes(unittest.TestCase):
    def process(self, script, folder, timeout=20.0):
        cores = sorted(os.sched_getaffinity(0))[:1]
        return Process([sys.executable, "-c", script], cores, timeout, pathlib.Path(folder) / "log")

    def failure(self, script, timeout=20.0):
        with tempfile.TemporaryDirectory() as folder:
            process = self.process(script, folder, timeout)
            try:
                with self.assertRaises(EngineFailed) as caught:
                    process.ask("load")
                return str(caught.exception)
            finally:
                process.end()

    def test_a_crash_is_told_with_its_last_words(self):
        self.assertIn("out of luck", self.failure("import sys; input(); sys.exit('out of luck')"))

    def test_silence_ends(self):
        self.assertIn("silent", self.failure("import time; time.sleep(60)", timeout=0.2))

    def test_an_error_is_passed_on(self):
        self.assertIn("no such", self.failure("""input(); print('{"error": "no such operator"}', flush=True)"""))

    def test_is_stopped_between_commands_and_pinned(self):
        script = """import os
while input(): print('{"cores": %d}' % len(os.sched_getaffinity(0)), flush=True)"""
        with tempfile.TemporaryDirectory() as folder:
            process = self.process(script, folder)
            try:
                self.assertEqual(process.ask("first"), {"cores": 1})
                _, status = os.waitpid(process.child.pid, os.WUNTRACED)
                self.assertTrue(os.WIFSTOPPED(status))
                self.assertEqual(process.ask_watched("second"), {"cores": 1})
                self.assertGreaterEqual(process.others[0], 0.0)
            finally:
                process.end()


@unittest.skipUnless(numpy, "needs NumPy")
class PythonWorker(unittest.TestCase):
    def test_warms_up_however_long_a_run_takes(self):
        class Engine:
            runs = 0

            def run(self):
                self.runs += 1
                time.sleep(0.02)

        for seconds in ("0.001", "0.05"):
            engine = Engine()
            one = worker.Worker(engine, "", 1, [])
            for _ in range(2):
                before = engine.runs
                times = one.run(seconds)["ns"]
                self.assertGreaterEqual(len(times), worker.LEAST_RUNS)
                self.assertEqual(engine.runs, before + len(times) + 1)


@unittest.skipUnless("COLONNADE_PEER_WORKER" in os.environ, "needs the worker")
class ColonnadeWorker(unittest.TestCase):
    def test_loads_runs_and_reports(self):
        with tempfile.TemporaryDirectory() as folder:
            pixels = pathlib.Path(folder) / "input.raw"
            pixels.write_bytes(array.array("f", [index / 784 for index in range(784)]).tobytes())
            command = [os.environ["COLONNADE_PEER_WORKER"], "--model", str(SOURCE / "models/embedded/digits.onnx"),
                       "--threads", "1", "--schedule", "columns", "--input", f"float32:1x1x28x28:{pixels}"]
            process = Process(command, sorted(os.sched_getaffinity(0))[:1], 60.0, pathlib.Path(folder) / "log")
            try:
                self.assertGreater(process.ask("load")["load_ms"], 0)
                outputs = process.ask(f"output {folder}")["outputs"]
                self.assertEqual([(output["dtype"], output["shape"]) for output in outputs], [("float32", [1, 10])])
                values = array.array("f", pathlib.Path(outputs[0]["file"]).read_bytes())
                self.assertEqual(len(values), 10)
                self.assertTrue(any(values) and all(map(math.isfinite, values)))
                times = process.ask("run 0.01")["ns"]
                self.assertGreaterEqual(len(times), 2)
                self.assertGreater(min(times), 0)
                peak = process.ask("peak")
                self.assertGreaterEqual(peak["peak_kb"], peak["run_kb"])
                with self.assertRaises(EngineFailed):
                    process.ask("dance")
            finally:
                process.end()


if __name__ == "__main__":
    suite.main()
