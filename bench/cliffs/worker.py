#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One engine in one process, with one case after another; speaks lines on stdin and JSON lines on stdout, as the worker
of bench/peers does.

  load THREADS NAME  makes the case's model and inputs, and loads it   {}
  output FILE        one run, its outputs pickled into the file        {}
  run SECONDS        runs for about that long                          {"ns": [one a run]}
  ran                what runs the node                                {"by": [names, the longest first]}
"""
from __future__ import annotations

import json
import os
import pathlib
import pickle
import sys
import time

import numpy as np

import cases
from case import Case

LEAST_SHARE = 0.1  # of a node's time, of a kernel that is named


def is_numeric(value) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind not in "OU"


class Colonnade:
    def __init__(self):
        import colonnade

        self.library = colonnade
        self.session = None

    def load(self, case: Case, threads: int) -> None:
        self.session = None
        self.session = self.library.Session(case.model(), threads=threads)
        self.feeds, self.out = case.feeds(), None
        plan = self.session.model.describe()
        if not plan["later"] and not plan["apart"]:  # shapes that are known before a run: its outputs may be bound
            made = self.session.run(self.feeds)
            plain = not any(info.containers for info in self.session.inputs + self.session.outputs)
            if plain and all(map(is_numeric, [*self.feeds.values(), *made.values()])):
                self.out = made

    def run(self) -> None:
        self.session.run(self.feeds, out=self.out)

    def outputs(self) -> list:
        return list(self.session.run(self.feeds).values())

    def ran_by(self) -> list[str]:
        self.session.set_profiling(True)
        self.run()
        times: dict[str, float] = {}
        for operator in self.session.profile()["operators"]:
            times[operator["kernel"]] = times.get(operator["kernel"], 0.0) + operator["ms"]
        self.session.set_profiling(False)
        order = sorted(times, key=times.get, reverse=True)
        least = LEAST_SHARE * sum(times.values())
        return [name for name in order if times[name] >= least]


class OnnxRuntime:
    """With its defaults: all optimisations, sequential execution."""

    def __init__(self):
        import onnxruntime

        self.library = onnxruntime
        self.session = self.binding = None

    def load(self, case: Case, threads: int) -> None:
        self.session = self.binding = None
        options = self.library.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        # Without VNNI its sums of bytes saturate otherwise: faster, and wrong.
        options.add_session_config_entry("session.x64quantprecision", "1")
        self.session = self.library.InferenceSession(case.model(), options, providers=["CPUExecutionProvider"])
        self.feeds = case.feeds()
        tensors = all(info.type.startswith("tensor(") and info.type != "tensor(string)"
                      for info in self.session.get_inputs() + self.session.get_outputs())
        self.binding = self.bound() if tensors else None

    def bound(self):
        """Bound once, because feeding arrays from Python costs microseconds that small nodes would see."""
        binding = self.session.io_binding()
        for name, array in self.feeds.items():
            binding.bind_cpu_input(name, np.ascontiguousarray(array))
        for info in self.session.get_outputs():
            binding.bind_output(info.name, "cpu")
        return binding

    def run(self) -> None:
        if self.binding is not None:
            self.session.run_with_iobinding(self.binding)
        else:
            self.session.run(None, self.feeds)

    def outputs(self) -> list:
        if self.binding is None:
            return self.session.run(None, self.feeds)
        self.run()
        try:
            return self.binding.copy_outputs_to_cpu()
        except RuntimeError as error:
            if "No corresponding Numpy type" not in str(error):
                raise
            return [None for _ in self.session.get_outputs()]


class Worker:
    """Answers the commands for one engine."""

    def __init__(self, engine):
        self.engine = engine
        self.cases = {case.name: case for case in cases.all_cases()}

    def load(self, operand: str) -> dict:
        threads, name = operand.split(" ", 1)
        self.engine.load(self.cases[name], int(threads))
        return {}

    def output(self, file: str) -> dict:
        pathlib.Path(file).write_bytes(pickle.dumps(self.engine.outputs()))
        return {}

    def run(self, seconds: str) -> dict:
        """The first run only warms what others have used meanwhile, unless it took the whole time."""
        limit = float(seconds) * 1e9
        times: list[int] = []
        start = now = time.perf_counter_ns()
        while not times or now - start < limit:
            before = time.perf_counter_ns()
            self.engine.run()
            now = time.perf_counter_ns()
            times.append(now - before)
        return {"ns": times[1:] or times}

    def ran(self) -> dict:
        return {"by": self.engine.ran_by()}


def main() -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what an engine prints must not mix with the replies
    worker = Worker({"colonnade": Colonnade, "onnxruntime": OnnxRuntime}[sys.argv[1]]())
    commands = {"load": worker.load, "output": worker.output, "run": worker.run, "ran": worker.ran}
    for line in sys.stdin:
        command, *rest = line.rstrip("\n").split(" ", 1)
        try:
            reply = commands[command](*rest)
        except Exception as error:  # an engine may raise anything; the controller turns it into a note
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()
