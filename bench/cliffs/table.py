# SPDX-License-Identifier: Apache-2.0
"""What the rows say: a table by ratio, and their sums."""
from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field

LEAST, LEVEL = 0.8, 1.0


@dataclass
class Row:
    """A case with a number of threads, both engines in one run."""

    machine: str
    case: str
    digest: str
    ours: str      # what was measured: the digest of our library
    theirs: str    # and the version of ONNX Runtime
    threads: int
    date: str = ""
    our_us: float = math.nan    # medians of the rounds' medians
    their_us: float = math.nan
    failure: str = ""           # why ours has no time
    lacked: str = ""            # why theirs has none
    wrong: str = ""             # how the outputs differ
    by: list[str] = field(default_factory=list)  # what ran it, the longest first

    @property
    def key(self) -> tuple:
        """Rows of equal keys measure the same thing."""
        return (self.machine, self.case, self.digest, self.ours, self.theirs, self.threads)

    @property
    def ratio(self) -> float:
        """Their time over ours: 0 where ours failed, NaN where theirs did."""
        if self.lacked:
            return math.nan
        return 0.0 if self.failure else self.their_us / self.our_us

    @property
    def note(self) -> str:
        notes = [("failed", self.failure), ("wrong", self.wrong), ("ONNX Runtime lacks it", self.lacked)]
        return "; ".join(f"{name}: {text}" if name != "ONNX Runtime lacks it" else name for name, text in notes if text)


def number(value: float) -> str:
    """Three significant digits, a dash for what is missing."""
    if not math.isfinite(value):
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def by_case(rows: list[Row]) -> list[dict[int, Row]]:
    """The rows of each case by threads, the lowest ratio first; those without a ratio last."""
    cases: dict[str, dict[int, Row]] = {}
    for row in rows:
        cases.setdefault(row.case, {})[row.threads] = row
    return sorted(cases.values(), key=lambda found: min(
        (row.ratio for row in found.values() if math.isfinite(row.ratio)), default=math.inf))


def lines(rows: list[Row], below: float = math.inf) -> list[list[str]]:
    """Head and body: a line a case, of those whose lowest ratio is below a limit or unknown while there is none."""
    counts = sorted({row.threads for row in rows})
    head = ["case"]
    for threads in counts:
        head += [f"ratio {threads}", f"us {threads}", f"ORT us {threads}"]
    table = [[*head, "by", "note"]]
    for found in by_case(rows):
        if math.isfinite(below) and not any(row.ratio < below or row.wrong for row in found.values()):
            continue
        first = found[min(found)]
        cells = [first.case]
        for threads in counts:
            row = found.get(threads)
            cells += [number(each) for each in (row.ratio, row.our_us, row.their_us)] if row else ["", "", ""]
        notes = dict.fromkeys(row.note for row in found.values() if row.note)
        table.append([*cells, ", ".join(first.by), "; ".join(notes)])
    return table


def summaries(rows: list[Row]) -> list[str]:
    """A line a number of threads."""
    parts = []
    for threads in sorted({row.threads for row in rows}):
        here = [row for row in rows if row.threads == threads]
        ratios = [row.ratio for row in here if math.isfinite(row.ratio) and not row.failure]
        mean = statistics.geometric_mean(ratios) if ratios else math.nan
        # A failure has the ratio 0 and is below every limit.
        low = [sum(row.ratio < limit for row in here) for limit in (LEAST, LEVEL)]
        reference = sum("reference" in row.by for row in here)
        parts.append(f"{threads} thread{'s' if threads > 1 else ''}: geometric mean {number(mean)} of {len(ratios)} rows, "
                     f"{low[0]} below {LEAST}, {low[1]} below {LEVEL:.1f}, {sum(bool(row.failure) for row in here)} failed, "
                     f"{sum(bool(row.wrong) for row in here)} wrong, {reference} with work for the reference, "
                     f"{sum(bool(row.lacked) for row in here)} that ONNX Runtime lacks")
    return parts


def terminal(rows: list[Row], below: float = math.inf) -> str:
    table = lines(rows, below)
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    body = ["  ".join(cell.ljust(width) if index in (0, len(line) - 2, len(line) - 1) else cell.rjust(width)
                      for index, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in table]
    return "\n".join([*body, *summaries(rows)])


def by_operator(rows: list[Row]) -> list[list[str]]:
    """Head and body: a line an operator, its cases, and their lowest and mean ratio by threads; the lowest first."""
    counts = sorted({row.threads for row in rows})
    operators: dict[str, list[Row]] = {}
    for row in rows:
        operators.setdefault(row.case.split(" ")[0], []).append(row)
    head = ["operator", "cases"]
    for threads in counts:
        head += [f"lowest {threads}", f"mean {threads}"]
    body = []
    for operator, found in operators.items():
        cells, lowest = [operator, str(len({row.case for row in found}))], math.inf
        for threads in counts:
            ratios = [row.ratio for row in found if row.threads == threads and math.isfinite(row.ratio)]
            lowest = min([lowest, *ratios])
            mean = statistics.geometric_mean(ratios) if ratios and all(ratios) else math.nan
            cells += [number(min(ratios)) if ratios else "-", number(mean)]
        names = dict.fromkeys(name for row in found for name in row.by)
        body.append((lowest, [*cells, ", ".join(list(names)[:3])]))
    return [[*head, "by"], *(cells for _, cells in sorted(body, key=lambda line: line[0]))]


def in_markdown(table: list[list[str]]) -> list[str]:
    head, *body = table
    cells = [head, ["---"] * len(head), *body]
    return ["| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in cells]


def markdown(rows: list[Row], below: float = LEVEL) -> str:
    """What the rows come to, the cases below a limit, and all operators."""
    return "\n".join([*(f"- {line}" for line in summaries(rows)), "", f"Cases below {below:g}:", "",
                      *in_markdown(lines(rows, below)), "", "All operators:", "", *in_markdown(by_operator(rows))])
