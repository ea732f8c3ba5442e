#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Colonnade with its peers on this machine: ./dev peers [MODEL...].

Every engine runs each model in a process of its own. The processes of one model are alive together, pinned to the same
cores, all but one stopped; rounds of short slices go from engine to engine, so that whatever the machine does meanwhile
happens to all of them. Rows are kept in build/peers/rows.jsonl; a model whose rows are complete is not measured again.
"""
from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import sys

import environment
import report
from environment import HOME, ROOT, Refused
from report import PEERS
from rows import RowStore

OTHERS = ("openvino", "deepsparse")
SCHEDULES = ("colonnade:columns", "colonnade:layers")
BF16 = "colonnade:bf16"


def physical_cores() -> list[int]:
    """One processor a core, of those that this process may use."""
    seen, cores = set(), []
    for cpu in sorted(os.sched_getaffinity(0)):
        try:
            siblings = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text()
        except OSError:
            siblings = str(cpu)
        if siblings not in seen:
            seen.add(siblings)
            cores.append(cpu)
    return cores


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def shape_override(text: str) -> tuple[str, list[int]]:
    """[NAME:]1x3x224x224; without a name it holds for every input."""
    name, _, dims = text.rpartition(":")
    return name, [int(dim) for dim in dims.split("x")]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev peers", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("models", nargs="*", metavar="MODEL",
                        help="names of models/networks.py, ONNX files or folders (default: all networks)")
    parser.add_argument("--int8", action="store_true",
                        help="networks in int8 by ONNX Runtime's tools; a name that ends with _qdq8 or _dyn8 is one too")
    parser.add_argument("--text", action="store_true", help="texts of mixed lengths instead, see texts.py --help")
    parser.add_argument("--list", action="store_true", help="print the names of networks and engines")
    parser.add_argument("--engines", type=lambda text: text.split(","), default=["colonnade", *PEERS, *OTHERS],
                        help="comma separated (default: all)")
    parser.add_argument("--schedules", action="store_true", help="also Colonnade with --schedule=columns and layers")
    parser.add_argument("--bf16", action="store_true",
                        help="also Colonnade with --math=bf16, beside OpenVINO in the precision it prefers")
    parser.add_argument("--threads", type=numbers, help="comma separated (default: 1 and the number of cores)")
    parser.add_argument("--cores", type=numbers, help="processors to pin to (default: the first two physical cores)")
    parser.add_argument("--rounds", type=int, default=5, help="slices an engine and model (default: 5)")
    parser.add_argument("--slice", type=float, default=0.4, help="seconds a slice (default: 0.4)")
    parser.add_argument("--timeout", type=float, default=180, help="seconds until a silent engine is given up")
    parser.add_argument("--shape", type=shape_override, action="append", default=[], metavar="[INPUT:]DIMS",
                        help="shape of an input whose dimensions are open, as 1x3x224x224")
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured before")
    parser.add_argument("--fastest", action="store_true",
                        help="report the fastest run instead of the median, for a look on a machine that is busy")
    parser.add_argument("--report-only", action="store_true", help="measure nothing, report the kept rows")
    parser.add_argument("--out", type=pathlib.Path, default=HOME / "report", help="folder of the report")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release", help="build of Colonnade")
    parsed = parser.parse_args(arguments)
    parsed.cores = parsed.cores or physical_cores()[:2]
    parsed.threads = parsed.threads or sorted({1, len(parsed.cores)})
    if max(parsed.threads) > len(parsed.cores):
        parser.error(f"{max(parsed.threads)} threads on {len(parsed.cores)} cores")
    known = {"colonnade", *PEERS, *OTHERS, *SCHEDULES, BF16}
    if parsed.bf16 and BF16 not in parsed.engines:
        parsed.engines.append(BF16)
    if parsed.schedules:
        parsed.engines += [engine for engine in SCHEDULES if engine not in parsed.engines]
    if not known.issuperset(parsed.engines):
        parser.error(f"engines are {', '.join(sorted(known))}")
    return parsed


def measure_all(campaign, files: list[pathlib.Path]) -> list[str]:
    """Why models were left out that no engine can be measured on, as those that ONNX Runtime does not run."""
    left_out = []
    for file in files:
        try:
            campaign.measure_model(file)
        except Refused as error:
            left_out.append(str(error))
            print(f"peers: {error}", file=sys.stderr)
    return left_out


def text_main(given: list[str]) -> int:
    """Texts of mixed lengths, in the environment that has the engines."""
    python = environment.main_environment()
    command = [str(python), "-B", str(ROOT / "bench" / "peers" / "texts.py"), *given]
    os.execve(python, command, {**os.environ, "PYTHONPATH": str(ROOT / "build" / "release" / "python")})


def main() -> int:
    if "--text" in sys.argv:
        return text_main([word for word in sys.argv[1:] if word != "--text"])
    arguments = parse(sys.argv[1:])
    try:
        python = environment.main_environment()
        if pathlib.Path(sys.prefix).resolve() != (HOME / "venv").resolve():
            os.execv(python, [str(python), *sys.argv])
        if arguments.list:
            print("networks:", *environment.networks())
            print("in int8:", *environment.int8_networks())
            print("engines:", "colonnade", *PEERS, *OTHERS, *SCHEDULES, BF16)
            return 0
        import measure

        if arguments.int8:
            arguments.models += environment.int8_networks()
        files = environment.find_models(arguments.models)
        store = RowStore(HOME / "rows.jsonl")
        campaign = measure.Campaign(arguments, store)
        left_out = measure_all(campaign, files)
        rows = campaign.rows
        if not rows:
            raise Refused("; ".join(["nothing was measured", *left_out]))
        campaign.machine["statistic"] = "fastest" if arguments.fastest else "median"
        if arguments.fastest:
            rows = [dataclasses.replace(row, ms=row.best_ms) for row in rows]
        print(report.terminal(rows, campaign.machine["statistic"]))
        report.write(rows, arguments.out, campaign.machine)
        for reason in left_out:
            print(f"left out: {reason}")
        print(f"report: {arguments.out}/report.md")
        return 0
    except Refused as error:
        print(f"peers: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("peers: stopped; the finished rows are kept", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
