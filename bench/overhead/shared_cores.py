#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sharing costs: two processes of two threads each on two cores, and one under a quota of one of two cores.

    python3 bench/overhead/shared_cores.py build/release/colonnade MODEL...

Prints how much longer than ideal a run takes: half of the rate alone, or the rates of both together. Rounds in turns,
medians. The quota is a control group of its own, which asks for root.
"""
from __future__ import annotations

import json
import os
import pathlib
import statistics
import subprocess
import sys

ROUNDS, SECONDS = 3, 2
GROUPS = pathlib.Path("/sys/fs/cgroup")


def make_quota() -> pathlib.Path | None:
    """A group that may take one processor's time; none where the system refuses."""
    in_version_1 = (GROUPS / "cpu").is_dir()
    group = GROUPS / ("cpu/colonnade-shared" if in_version_1 else "colonnade-shared")
    try:
        group.mkdir(exist_ok=True)
        if in_version_1:
            (group / "cpu.cfs_period_us").write_text("100000")
            (group / "cpu.cfs_quota_us").write_text("100000")
        else:
            (group / "cpu.max").write_text("100000 100000")
    except OSError as error:
        print(f"no quota: {error}", file=sys.stderr)
        return None
    return group


def start(command: str, model: str, group: pathlib.Path | None = None) -> subprocess.Popen:
    def enter() -> None:
        (group / "cgroup.procs").write_text(str(os.getpid()))

    return subprocess.Popen([command, "bench", model, "--threads", "2", "--duration", str(SECONDS), "--json"],
                            stdout=subprocess.PIPE, text=True, preexec_fn=enter if group else None)


def rate(process: subprocess.Popen) -> float:
    return json.loads(process.communicate()[0])["runs_per_s"]


def main() -> None:
    command, *models = sys.argv[1:]
    group = make_quota()
    for model in models:
        alone, together, limited = [], [], []
        for _ in range(ROUNDS):
            alone.append(rate(start(command, model)))
            pair = [start(command, model), start(command, model)]
            together.append(sum(map(rate, pair)))
            if group:
                limited.append(rate(start(command, model, group)))
        ideal = statistics.median(alone)
        line = f"{pathlib.Path(model).stem:24} two processes {ideal / statistics.median(together):.2f}"
        print(line + (f", half the cores {ideal / 2 / statistics.median(limited):.2f}" if limited else ""), flush=True)
    if group:
        group.rmdir()


if __name__ == "__main__":
    main()
