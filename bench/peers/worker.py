#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One engine with one model in one process; speaks lines on stdin and JSON lines on stdout.

  load          loads the model             {"load_ms", "version"}
  output DIR    one run, outputs to files   {"first_ms", "outputs": [{"dtype", "shape", "file"}]}
  run SECONDS   runs once, and then for about that long   {"ns": [one a run, but for the first]}
  peak          memory above the idle process {"peak_kb": load and runs, "run_kb": since the load}
  quit

colonnade_worker.cpp answers the same.
"""
from __future__ import annotations

import argparse
import importlib
import json
import os
import pathlib
import sys
import time

import numpy as np

LEAST_RUNS = 2


def memory_kb(field: str) -> int:
    """VmRSS or VmHWM of this process."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    return 0


def reset_peak() -> None:
    """Starts VmHWM again from the memory in use; where the kernel refuses, the peak of the load counts everywhere."""
    try:
        pathlib.Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def read_input(spec: str) -> np.ndarray:
    """An array from DTYPE:DIMxDIM:FILE, the raw elements."""
    dtype, dims, file = spec.split(":", 2)
    shape = [int(dim) for dim in dims.split("x")] if dims else []
    return np.fromfile(file, dtype=dtype).reshape(shape)


class Worker:
    """Answers the commands for one engine."""

    def __init__(self, engine, model: str, threads: int, inputs: list[np.ndarray]):
        self.engine, self.model, self.threads, self.inputs = engine, model, threads, inputs
        self.idle_kb = self.load_peak_kb = 0

    def load(self) -> dict:
        reset_peak()
        self.idle_kb = memory_kb("VmRSS")
        start = time.perf_counter_ns()
        self.engine.load(self.model, self.threads, self.inputs)
        load_ms = (time.perf_counter_ns() - start) / 1e6
        self.load_peak_kb = memory_kb("VmHWM")
        reset_peak()
        return {"load_ms": load_ms, "version": self.engine.VERSION}

    def timed_run(self) -> int:
        start = time.perf_counter_ns()
        self.engine.run()
        return time.perf_counter_ns() - start

    def output(self, folder: str) -> dict:
        first = self.timed_run()
        files = []
        for index, array in enumerate(self.engine.outputs()):
            file = os.path.join(folder, f"{index}.raw")
            array = np.asarray(array)
            np.ascontiguousarray(array).tofile(file)
            files.append({"dtype": str(array.dtype), "shape": list(array.shape), "file": file})
        return {"first_ms": first / 1e6, "outputs": files}

    def run(self, seconds: str) -> dict:
        limit = float(seconds)
        self.timed_run()  # others have run meanwhile: caches are theirs
        times: list[int] = []
        start = time.perf_counter()
        while len(times) < LEAST_RUNS or time.perf_counter() - start < limit:
            times.append(self.timed_run())
        return {"ns": times}

    def peak(self) -> dict:
        run_kb = memory_kb("VmHWM")
        return {"peak_kb": max(run_kb, self.load_peak_kb) - self.idle_kb, "run_kb": run_kb - self.idle_kb}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("engine")
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--input", action="append", default=[])
    arguments = parser.parse_args()
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what an engine prints must not mix with the replies
    name, _, variant = arguments.engine.partition(":")
    engine = importlib.import_module(f"engines.{name}").Engine(variant)
    inputs = [read_input(spec) for spec in arguments.input]
    worker = Worker(engine, arguments.model, arguments.threads, inputs)
    commands = {"load": worker.load, "output": worker.output, "run": worker.run, "peak": worker.peak}
    for line in sys.stdin:
        command, *rest = line.rstrip("\n").split(" ", 1)
        if command == "quit":
            break
        try:
            reply = commands[command](*rest)
        except Exception as error:  # an engine may raise anything; the controller turns it into a failed row
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()
