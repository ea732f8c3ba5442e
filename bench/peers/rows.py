# SPDX-License-Identifier: Apache-2.0
"""Rows of results: one a model, engine and number of threads on a machine, kept as JSON lines."""
from __future__ import annotations

import json
import math
import pathlib
import statistics
from dataclasses import asdict, dataclass, field


@dataclass
class Row:
    """What one engine did with one model. `failure` is empty for a good row; then the numbers mean something."""

    machine: str
    model: str
    digest: str
    engine: str
    version: str
    threads: int
    failure: str = ""
    date: str = ""
    ms: float = math.nan        # median of the rounds' medians
    best_ms: float = math.nan   # fastest run
    rounds: list[float] = field(default_factory=list)  # median of each round, in ms
    runs: int = 0
    load_ms: float = math.nan
    first_ms: float = math.nan
    peak_mb: float = math.nan   # above the idle process, load and runs
    run_mb: float = math.nan    # above the idle process, runs only
    others: float = math.nan    # share of the cores that other processes took meanwhile, median of the slices
    error: float = math.nan     # largest difference from the reference over the largest |reference|

    @property
    def key(self) -> tuple:
        """Rows of equal keys measure the same thing."""
        return (self.machine, self.digest, self.engine, self.version, self.threads)


def summarise(rounds: list[list[int]]) -> dict:
    """The timing fields of a row from each round's runs in ns; rounds count equally however many runs fit in."""
    medians = [statistics.median(times) / 1e6 for times in rounds]
    return {"ms": statistics.median(medians), "best_ms": min(map(min, rounds)) / 1e6, "rounds": medians,
            "runs": sum(map(len, rounds))}


class RowStore:
    """The rows in a file of JSON lines; the last row of a key counts. A torn last line is ignored. `kind` is any dataclass
    that has a key."""

    def __init__(self, file: pathlib.Path, kind: type = Row):
        self.file = file
        self.rows: dict[tuple, kind] = {}
        if not file.exists():
            return
        for line in file.read_text().splitlines():
            try:
                row = kind(**json.loads(line))
            except (ValueError, TypeError):
                continue
            self.rows[row.key] = row

    def find(self, row):
        return self.rows.get(row.key)

    def add(self, row) -> None:
        self.rows[row.key] = row
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with open(self.file, "a") as file:
            file.write(json.dumps(asdict(row)) + "\n")
