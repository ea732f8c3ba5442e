#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far networks are from what the machine allows: bench/peers/roofline.py [--threads N] MODEL...

The bound is a sum over segments of the longer of two times: arithmetic at the FMA peak, measured beside every run, and
the packed weights once from where they lie between runs: L3 when it holds those of the whole network, else memory, at
the rates that `colonnade machine` measured (or those given, to compare with times of another day). A convolution that
runs by Winograd counts what its tiles multiply (of a 3x3 filter a fifth, a quarter or four ninths of the direct
arithmetic), one on matrix units three eighths of it: six bf16 products at 16 times the rate. Transforms, border tiles,
activations and whatever else moves count nothing.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLI = ROOT / "build" / "release" / "colonnade"


def answer(*arguments: str) -> dict:
    done = subprocess.run([str(CLI), *arguments, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def executed(segment: dict) -> float:
    return sum(operator.get("flop", 0) * operator.get("products", 1) * (6 / 16 if operator.get("matrix_units") else 1)
               for operator in segment["operators"])


def row(model: str, arguments: argparse.Namespace) -> dict:
    threads = arguments.threads
    plan = answer("explain", model, "--threads", str(threads))
    run = answer("bench", model, "--threads", str(threads), "--iterations", str(arguments.iterations))
    peak = arguments.peak * threads or run["peak_gflops"]
    l3 = max((cache["bytes"] for cache in run["machine"]["caches"] if cache["level"] == 3), default=0)
    level = "l3" if plan["weights_bytes"] < l3 else "dram"
    rates = plan["rates"]
    measured = min(threads * rates[f"{level}_gbs"],
                   rates[f"{level}_total_gbs"] * threads / min(threads, rates["total_threads"]))
    rate = vars(arguments)[level] or measured
    arithmetic = [executed(segment) / peak / 1e6 for segment in plan["segments"]]
    weights = [segment["weights_bytes"] / rate / 1e6 for segment in plan["segments"]]
    return {"name": pathlib.Path(model).stem, "gflop": plan["flop"] / 1e9,
            "executed_gflop": sum(map(executed, plan["segments"])) / 1e9, "peak_gflops": peak,
            "weights_mb": plan["weights_bytes"] / 1e6, "weights_gbs": rate, "arithmetic_ms": sum(arithmetic),
            "weights_ms": sum(weights), "bound_ms": sum(map(max, zip(arithmetic, weights))),
            "ms": run["latency_ms"]["p50"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--peak", type=float, default=0, help="GFLOP/s of a core, instead of what is measured")
    parser.add_argument("--l3", type=float, default=0, help="GB/s from L3, as --peak")
    parser.add_argument("--dram", type=float, default=0, help="GB/s from memory, as --peak")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = [row(model, arguments) for model in arguments.models]
    if arguments.json:
        print(json.dumps(rows))
        return 0
    print("| network | GFLOP | executed | at the peak, ms | weights, MB | read, ms | bound, ms | measured, ms | reached |")
    print("|---|---|---|---|---|---|---|---|---|")
    for each in rows:
        print(f"| {each['name']} | {each['gflop']:.2f} | {each['executed_gflop']:.2f} | {each['arithmetic_ms']:.1f} "
              f"| {each['weights_mb']:.0f} | {each['weights_ms']:.1f} | {each['bound_ms']:.1f} | {each['ms']:.1f} "
              f"| {each['bound_ms'] / each['ms']:.0%} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
