# SPDX-License-Identifier: Apache-2.0
"""Drives the engines' processes: start, check, interleaved rounds, peak memory."""
from __future__ import annotations

import argparse
import datetime
import hashlib
import importlib.metadata
import json
import math
import os
import pathlib
import statistics
import sys

import numpy as np

import environment
from check import read_outputs, relative_error
from environment import HOME, QUANTISED, Refused, Subject
from process import EngineFailed, Process
from rows import Row, RowStore, summarise

TOLERANCE = 1e-3
TOLERANCE_OF_DEFAULT_PRECISION = 5e-2  # OpenVINO may choose bf16
TOLERANCE_OF_BYTES = 0.1  # a step of a layer in the middle moves what follows
REFERENCE = "onnxruntime:exact"
WORKER = pathlib.Path(__file__).with_name("worker.py")


def machine_description(cores: list[int]) -> dict:
    """The machine as the report names it."""
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text()
    names = [line.split(":", 1)[1].strip() for line in cpuinfo.splitlines() if line.startswith("model name")]
    flags = next((line for line in cpuinfo.splitlines() if line.startswith("flags")), "")
    caches = []
    for index in sorted(pathlib.Path(f"/sys/devices/system/cpu/cpu{cores[0]}/cache").glob("index*")):
        if (index / "type").read_text().strip() != "Instruction":
            caches.append(f"L{(index / 'level').read_text().strip()} {(index / 'size').read_text().strip()}")
    isa = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if f" {flag} " in flags + " "), "")
    return {"cpu": names[0] if names else "unknown", "isa": isa, "caches": ", ".join(caches), "cores": len(cores),
            "processors": os.cpu_count(), "date": datetime.date.today().isoformat()}


def shapes(arrays: list[np.ndarray]) -> str:
    return ", ".join("x".join(map(str, array.shape)) for array in arrays)


class Campaign:
    """Measures models one after another and remembers their rows.

    The engines of a model are always measured together: where one row is missing all are measured, because ratios of
    different hours mean little.
    """

    def __init__(self, arguments: argparse.Namespace, store: RowStore):
        self.arguments, self.store = arguments, store
        self.rows: list[Row] = []
        self.machine = machine_description(arguments.cores)
        self.deepsparse = None
        if "deepsparse" in arguments.engines:
            try:
                self.deepsparse = environment.deepsparse_environment()
            except Refused as error:
                print(f"peers: without deepsparse: {error}", file=sys.stderr)
        self.logs = HOME / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)

    def version(self, engine: str) -> str:
        """Of the installed package; of Colonnade the digest of the library, so that a rebuilt one is measured again."""
        name = engine.split(":")[0]
        if name == "colonnade":
            return hashlib.sha256((self.arguments.build / "libcolonnade.so").read_bytes()).hexdigest()[:12]
        if name == "deepsparse":
            return "1.8.0"
        return importlib.metadata.version(name)

    def measure_model(self, file: pathlib.Path) -> None:
        subject = environment.prepare(file, dict(self.arguments.shape))
        machine = f"{self.machine['cpu']}, {self.machine['cores']} of {self.machine['processors']}"
        wanted = {threads: [Row(machine, subject.name, subject.digest, engine, self.version(engine), threads)
                            for engine in self.arguments.engines] for threads in self.arguments.threads}
        for threads, rows in wanted.items():
            complete = all(self.store.find(row) is not None for row in rows)
            if (self.arguments.fresh or not complete) and not self.arguments.report_only:
                self.measure_rows(subject, threads, rows)
            self.rows += [found for found in map(self.store.find, rows) if found is not None]

    def command(self, subject: Subject, engine: str, threads: int) -> list[str]:
        model = str(environment.converted(subject, engine.split(":")[0]))
        options = ["--model", model, "--threads", str(threads)]
        for spec in subject.inputs:
            options += ["--input", spec]
        name, _, variant = engine.partition(":")
        if name == "colonnade":
            program = self.arguments.build / "bench" / "colonnade-peer-worker"
            return [str(program), *options, *(("--math", "bf16") if variant == "bf16" else
                                              ("--schedule", variant or "auto"))]
        if name == "deepsparse" and self.deepsparse is None:
            raise Refused("deepsparse is not installed")
        python = self.deepsparse if name == "deepsparse" else HOME / "venv" / "bin" / "python"
        return [str(python), str(WORKER), engine, *options]

    def start(self, subject: Subject, engine: str, threads: int) -> Process:
        log = self.logs / f"{subject.name}-{engine.replace(':', '_')}-{threads}.log"
        return Process(self.command(subject, engine, threads), self.arguments.cores[:threads], self.arguments.timeout, log)

    def reference(self, subject: Subject) -> list[np.ndarray]:
        """ONNX Runtime's outputs, kept beside the inputs."""
        index = subject.folder / "reference.json"
        if not index.exists():
            folder = subject.folder / "reference"
            folder.mkdir(exist_ok=True)
            process = self.start(subject, REFERENCE, 1)
            try:
                process.ask("load")
                index.write_text(json.dumps(process.ask(f"output {folder}")))
            finally:
                process.end()
        return read_outputs(json.loads(index.read_text()))

    def measure_rows(self, subject: Subject, threads: int, rows: list[Row]) -> None:
        """All engines of a model with their processes side by side; every row is stored, failed ones too."""
        processes: dict[str, Process] = {}
        by_engine = {row.engine: row for row in rows}
        times: dict[str, list[list[int]]] = {row.engine: [] for row in rows}
        try:
            references = self.reference(subject)
        except EngineFailed as error:
            raise Refused(f"{subject.name}: no reference from ONNX Runtime: {error}") from error
        try:
            for row in rows:
                self.guarded(row, processes, lambda row=row: self.begin(subject, row, processes, references))
            for index in range(self.arguments.rounds):
                order = list(processes)
                for engine in order[index % max(1, len(order)):] + order[:index % max(1, len(order))]:
                    self.guarded(by_engine[engine], processes, lambda engine=engine: times[engine].append(
                        processes[engine].ask_watched(f"run {self.arguments.slice}")["ns"]))
            for engine in list(processes):
                self.guarded(by_engine[engine], processes, lambda engine=engine: self.finish(
                    by_engine[engine], processes[engine], times[engine]))
        finally:
            for process in processes.values():
                process.end()
        for row in rows:
            row.date = self.machine["date"]
            self.store.add(row)
            state = row.failure or f"{row.ms:.3f} ms"
            print(f"{subject.name} {threads} {row.engine}: {state}", file=sys.stderr)

    def guarded(self, row: Row, processes: dict[str, Process], action) -> None:
        """Runs a step of one engine; its failure ends that engine alone."""
        try:
            action()
        except (EngineFailed, Refused, OSError) as error:
            row.failure = str(error)
            process = processes.pop(row.engine, None)
            if process is not None:
                process.end()

    def begin(self, subject: Subject, row: Row, processes: dict[str, Process], references: list[np.ndarray]) -> None:
        process = processes[row.engine] = self.start(subject, row.engine, row.threads)
        row.load_ms = process.ask("load")["load_ms"]
        folder = subject.folder / "outputs"
        folder.mkdir(exist_ok=True)
        reply = process.ask(f"output {folder}")
        row.first_ms = reply["first_ms"]
        outputs = read_outputs(reply)
        if [output.size for output in outputs] != [reference.size for reference in references]:
            raise EngineFailed(f"wrong answer: shapes {shapes(outputs)}, not {shapes(references)}")
        row.error = relative_error(outputs, references)
        limit = TOLERANCE_OF_DEFAULT_PRECISION if row.engine in ("openvino", "colonnade:bf16") else TOLERANCE
        if subject.name.endswith(QUANTISED):
            limit = math.inf if row.engine == "onnxruntime" else TOLERANCE_OF_BYTES  # its defaults may saturate sums
        if not row.error <= limit:
            raise EngineFailed(f"wrong answer: off by {row.error:.3g} of the largest output")

    def finish(self, row: Row, process: Process, times: list[list[int]]) -> None:
        memory = process.ask("peak")
        row.peak_mb, row.run_mb = memory["peak_kb"] / 1024, memory["run_kb"] / 1024
        row.others = statistics.median(process.others)
        for name, value in summarise(times).items():
            setattr(row, name, value)
