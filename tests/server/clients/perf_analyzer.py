# SPDX-License-Identifier: Apache-2.0
"""perf_analyzer measures the server over both protocols."""

import glob
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import unittest

PROGRAM = pathlib.Path(sys.executable).parent / "perf_analyzer"


class PerfAnalyzer(unittest.TestCase):
    def measure(self, *arguments):
        libraries = glob.glob(sysconfig.get_paths()["purelib"] + "/nvidia/cuda_runtime/lib")
        environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)}
        windows = ["--measurement-mode", "count_windows", "--measurement-request-count", "20", "-p", "200", "-s", "100000"]
        run = subprocess.run([PROGRAM, *arguments, *windows], env=environment, capture_output=True, text=True)
        output = run.stdout + run.stderr
        self.assertEqual(run.returncode, 0, output)
        throughput = re.search(r"Throughput: ([0-9.e+]+) infer/sec", output)
        self.assertIsNotNone(throughput, output)
        self.assertGreater(float(throughput[1]), 0, output)
        self.assertIn("Inference count:", output)
        return output

    def test_http(self):
        self.measure("-m", "digits", "-u", os.environ["COLONNADE_HTTP"], "-i", "http", "--concurrency-range", "2")

    def test_http_json(self):
        self.measure("-m", "batched", "-u", os.environ["COLONNADE_HTTP"], "-i", "http", "-b", "4",
                     "--input-tensor-format", "json", "--output-tensor-format", "json")

    def test_grpc(self):
        self.measure("-m", "batched", "-u", os.environ["COLONNADE_GRPC"], "-i", "grpc", "-b", "2", "--concurrency-range", "2")

    def test_shared_memory(self):
        for protocol in ("http", "grpc"):
            self.measure("-m", "batched", "-u", os.environ["COLONNADE_" + protocol.upper()], "-i", protocol, "-b", "2",
                         "--shared-memory", "system", "--output-shared-memory-size", "1024")

    def test_grpc_stream(self):
        self.measure("-m", "echo_FP32", "-u", os.environ["COLONNADE_GRPC"], "-i", "grpc", "--streaming", "--async", "--shape",
                     "x:3,2", "--request-rate-range", "100")


if __name__ == "__main__":
    unittest.main()
