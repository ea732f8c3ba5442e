#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a program waits for its first result: ./dev start [MODEL...].

Load, plan and first run beside ONNX Runtime, each in a fresh process with the file in the system's cache, engine by
engine in turns; medians. `saved` reads a compiled file that a run before has written.
"""
from __future__ import annotations

import argparse
import importlib.util
import math
import os
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "peers"))
import environment
from environment import HOME, ROOT, Refused, Subject
from peers import numbers, physical_cores
from process import EngineFailed, Process

WORKER = pathlib.Path(__file__).parents[1] / "peers" / "worker.py"
ENGINES = ("colonnade", "saved", "onnxruntime")
WANTED = 0.7


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev start", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("models", nargs="*", metavar="MODEL",
                        help="names of models/networks.py, ONNX files or folders (default: all networks)")
    parser.add_argument("--threads", type=numbers, help="comma separated (default: the number of cores, at most 2)")
    parser.add_argument("--rounds", type=int, default=5, help="fresh processes an engine and model (default: 5)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release", help="build of Colonnade")
    parsed = parser.parse_args(arguments)
    parsed.cores = physical_cores()
    parsed.threads = parsed.threads or [min(2, len(parsed.cores))]
    if max(parsed.threads) > len(parsed.cores):
        parser.error(f"{max(parsed.threads)} threads on {len(parsed.cores)} cores")
    return parsed


class Starts:
    """Measures the starts of one model with so many threads."""

    def __init__(self, arguments: argparse.Namespace, subject: Subject, threads: int, folder: pathlib.Path):
        self.arguments, self.subject, self.threads, self.folder = arguments, subject, threads, folder
        self.times: dict[str, list[dict]] = {engine: [] for engine in ENGINES}

    def command(self, engine: str) -> list[str]:
        options = ["--model", str(self.subject.file), "--threads", str(self.threads)]
        for spec in self.subject.inputs:
            options += ["--input", spec]
        if engine == "onnxruntime":
            return [sys.executable, str(WORKER), engine, *options]
        if engine == "saved":
            options += ["--compiled", str(self.folder / "compiled")]
        return [str(self.arguments.build / "bench" / "colonnade-peer-worker"), *options]

    def once(self, engine: str) -> dict:
        process = Process(self.command(engine), self.arguments.cores[:self.threads], 180, self.folder / "log")
        try:
            load = process.ask("load")["load_ms"]
            return {"load": load, "first": process.ask(f"output {self.folder}")["first_ms"]}
        finally:
            process.end()

    def measure(self) -> None:
        for engine in ENGINES:
            self.once(engine)  # reads the file into the cache, or writes the compiled one
        for index in range(self.arguments.rounds):
            for engine in ENGINES[index % len(ENGINES):] + ENGINES[:index % len(ENGINES)]:
                self.times[engine].append(self.once(engine))

    def median(self, engine: str) -> float:
        return statistics.median(time["load"] + time["first"] for time in self.times[engine])

    def line(self) -> str:
        cells = []
        for engine in ENGINES:
            load, first = (statistics.median(time[part] for time in self.times[engine]) for part in ("load", "first"))
            cells.append(f"{load:8.1f} + {first:6.1f}")
        return (f"{self.subject.name:28} {self.threads:2} {' '.join(cells)}   {self.ratio('colonnade'):5.2f} "
                f"{self.ratio('saved'):5.2f}")

    def ratio(self, engine: str) -> float:
        return self.median(engine) / self.median("onnxruntime")


def measure_all(arguments: argparse.Namespace) -> list[Starts]:
    """Prints a line a model as soon as it is measured; what ONNX Runtime does not run is named and left out."""
    print(f"{'load + first run, ms':28} {'':2} {'colonnade':>17} {'saved':>17} {'onnxruntime':>17}   ratio saved")
    done = []
    for file in environment.find_models(arguments.models):
        subject = environment.prepare(file, {})
        for threads in arguments.threads:
            with tempfile.TemporaryDirectory() as folder:
                starts = Starts(arguments, subject, threads, pathlib.Path(folder))
                try:
                    starts.measure()
                except EngineFailed as error:
                    print(f"{subject.name} {threads}: left out: {error}", flush=True)
                    continue
            done.append(starts)
            print(starts.line(), flush=True)
    return done


def main() -> int:
    arguments = parse(sys.argv[1:])
    try:
        if importlib.util.find_spec("onnxruntime") is None or importlib.util.find_spec("onnx") is None:
            python = environment.main_environment()
            os.execv(python, [str(python), *sys.argv])
        done = measure_all(arguments)
        if not done:
            raise Refused("nothing was measured")
        for engine in ("colonnade", "saved"):
            ratios = [starts.ratio(engine) for starts in done]
            above = [starts.subject.name for starts in done if starts.ratio(engine) > WANTED]
            mean = math.exp(statistics.mean(map(math.log, ratios)))
            print(f"{engine}: geometric mean {mean:.2f}, at most {max(ratios):.2f}; above {WANTED}: "
                  f"{', '.join(above) or 'none'}")
        return 0
    except Refused as error:
        print(f"start: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
