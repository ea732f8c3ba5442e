#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times every operator by itself beside ONNX Runtime: ./dev cliffs [OPERATOR...].

Each case is a model of one node at a size and in a form that exported networks have (cases/). Both engines have a process,
which stands still while the other works; rounds of short slices alternate, and their outputs are compared. A ratio is ONNX
Runtime's time over ours. Rows are kept in build/cliffs/rows.jsonl; without OPERATORs only what is missing there for this
library is measured, so that a whole run may be done in parts (--limit).
"""
from __future__ import annotations

import argparse
import datetime
import hashlib
import importlib.metadata
import json
import os
import pathlib
import pickle
import sys
import time
from dataclasses import asdict

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench" / "peers"))

import cases
import table
from case import Case
from compare import difference
from measure import machine_description
from peers import numbers, physical_cores
from process import EngineFailed, Process
from report import finite
from rows import RowStore, summarise
from table import Row

HOME = ROOT / "build" / "cliffs"
WORKER = pathlib.Path(__file__).with_name("worker.py")
ENGINES = ("colonnade", "onnxruntime")


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev cliffs", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", metavar="OPERATOR",
                        help="Einsum, com.microsoft::Gelu or the start of a case's name as 'Resize 1x64' (default: all)")
    parser.add_argument("--threads", type=numbers, help="comma separated (default: 1 and the number of cores)")
    parser.add_argument("--cores", type=numbers, help="processors to pin to (default: the first two physical cores)")
    parser.add_argument("--rounds", type=int, default=3, help="slices a case and engine (default: 3)")
    parser.add_argument("--slice", type=float, default=0.03, help="seconds a slice (default: 0.03)")
    parser.add_argument("--quick", action="store_true", help="two rounds of 0.01 s: a first look")
    parser.add_argument("--limit", type=float, default=float("inf"), help="start no case after so many seconds")
    parser.add_argument("--timeout", type=float, default=60, help="seconds until a silent engine is given up")
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured before")
    parser.add_argument("--report-only", action="store_true", help="measure nothing, report the kept rows")
    parser.add_argument("--below", type=float, help="print only cases below this ratio, and wrong ones")
    parser.add_argument("--markdown", action="store_true", help="print the table for bench/results")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release", help="build of Colonnade")
    parsed = parser.parse_args(words)
    parsed.cores = parsed.cores or physical_cores()[:2]
    parsed.threads = parsed.threads or sorted({1, len(parsed.cores)})
    if parsed.quick:
        parsed.rounds, parsed.slice = 2, 0.01
    return parsed


def chosen(operators: list[str]) -> list[Case]:
    """The cases of these operators, or all."""
    every = cases.all_cases()
    if not operators:
        return every
    found = {}
    for word in operators:
        here = [case for case in every
                if word.lower() in (case.operator.lower(), case.name.split(" ")[0].lower()) or
                (" " in word and case.name.lower().startswith(word.lower()))]
        if not here:
            raise SystemExit(f"cliffs: no case of {word}: {cases.LEFT_OUT.get(('ai.onnx', word), 'see --list')}")
        found.update((case.name, case) for case in here)
    return list(found.values())


class Campaign:
    """Measures cases one after another and keeps their rows."""

    def __init__(self, arguments: argparse.Namespace, store: RowStore):
        self.arguments, self.store = arguments, store
        machine = machine_description(arguments.cores)
        self.machine = f"{machine['cpu']}, {machine['cores']} of {machine['processors']}"
        module = next((arguments.build / "python" / "colonnade").glob("_engine*.so"), None)
        if module is None:
            raise SystemExit(f"cliffs: {arguments.build} has no Python package")
        self.ours = hashlib.sha256(module.read_bytes()).hexdigest()[:12]
        self.theirs = importlib.metadata.version("onnxruntime")
        self.processes: dict[tuple[str, int], Process] = {}

    def row(self, case: Case, threads: int) -> Row:
        digest = hashlib.sha256(case.model()).hexdigest()[:12]
        return Row(self.machine, case.name, digest, self.ours, self.theirs, threads)

    def process(self, engine: str, threads: int) -> Process:
        """The worker of an engine; another one where it has died."""
        key = (engine, threads)
        if key not in self.processes:
            os.environ["PYTHONPATH"] = str(self.arguments.build / "python")
            self.processes[key] = Process([sys.executable, "-B", str(WORKER), engine], self.arguments.cores[:threads],
                                          self.arguments.timeout, HOME / f"{engine}-{threads}.log")
        return self.processes[key]

    def ask(self, engine: str, threads: int, command: str) -> dict:
        process = self.process(engine, threads)
        try:
            return process.ask(command)
        except EngineFailed as error:
            if process.lost:
                self.processes.pop((engine, threads)).end()
            raise EngineFailed(f"{engine}: {error}") from error

    def begin(self, case: Case, engine: str, threads: int) -> list | str:
        """The outputs of an engine, or why it has none."""
        file = HOME / f"{engine}.outputs"
        try:
            self.ask(engine, threads, f"load {threads} {case.name}")
            self.ask(engine, threads, f"output {file}")
            return pickle.loads(file.read_bytes())
        except EngineFailed as error:
            return str(error)

    def measure(self, case: Case, row: Row) -> None:
        """Fills the row of a case."""
        outputs = {engine: self.begin(case, engine, row.threads) for engine in ENGINES}
        failed = {engine: found for engine, found in outputs.items() if isinstance(found, str)}
        row.failure, row.lacked = failed.get("colonnade", ""), failed.get("onnxruntime", "")
        if not failed:
            row.wrong = difference(case, *(outputs[engine] for engine in ENGINES))
        try:
            if not row.failure:
                row.by = self.ask("colonnade", row.threads, "ran")["by"]
            self.time(row, [engine for engine in ENGINES if engine not in failed])
        except EngineFailed as error:
            row.failure = str(error)
        row.date = datetime.date.today().isoformat()
        self.store.add(row)

    def time(self, row: Row, engines: list[str]) -> None:
        """Rounds of slices; every second one goes the other way round."""
        times: dict[str, list[list[int]]] = {engine: [] for engine in engines}
        for index in range(self.arguments.rounds):
            for engine in engines[::-1 if index % 2 else 1]:
                times[engine].append(self.ask(engine, row.threads, f"run {self.arguments.slice}")["ns"])
        us = {engine: summarise(rounds)["ms"] * 1e3 for engine, rounds in times.items()}
        row.our_us, row.their_us = us.get("colonnade", row.our_us), us.get("onnxruntime", row.their_us)

    def end(self) -> None:
        for process in self.processes.values():
            process.end()


def measure_all(campaign: Campaign, wanted: list[Case], arguments: argparse.Namespace) -> list[Row]:
    start = time.monotonic()
    again = arguments.fresh or bool(arguments.operators)
    rows = []
    for threads in arguments.threads:
        for case in wanted:
            row = campaign.row(case, threads)
            found = campaign.store.find(row)
            late = time.monotonic() - start > arguments.limit
            if not arguments.report_only and not late and (found is None or again):
                campaign.measure(case, row)
                found = row
                print(f"{case.name}, {threads}: {table.number(row.ratio)} {row.note}", file=sys.stderr, flush=True)
            rows += [found] if found is not None else []
    missing = len(wanted) * len(arguments.threads) - len(rows)
    if missing:
        print(f"cliffs: {missing} of {missing + len(rows)} rows are still missing", file=sys.stderr)
    return rows


def main() -> int:
    arguments = parse(sys.argv[1:])
    wanted = chosen(arguments.operators)
    if arguments.list:
        print("\n".join(case.name for case in wanted))
        return 0
    HOME.mkdir(parents=True, exist_ok=True)
    campaign = Campaign(arguments, RowStore(HOME / "rows.jsonl", Row))
    try:
        rows = measure_all(campaign, wanted, arguments)
    finally:
        campaign.end()
    if not rows:
        return 2
    if arguments.json:
        print(json.dumps(finite([{**asdict(row), "ratio": row.ratio} for row in rows]), indent=1))
    else:
        limit = [] if arguments.below is None else [arguments.below]
        print((table.markdown if arguments.markdown else table.terminal)(rows, *limit))
    return 0


if __name__ == "__main__":
    sys.exit(main())
