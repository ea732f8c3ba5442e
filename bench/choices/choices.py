#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times every way to run the convolutions and products of some networks: ./dev choices [NETWORK...].

Each distinct node, after the passes, is run as a whole layer by every alternative that families offer for it, in turns,
with weights in the caches (warm) and with weights in memory (cold). Its regret is the time of the chosen one over that
of the best, less one. Its bound is the longer of two times: the operations that its algorithm multiplies (for Winograd
those of its tiles) at the FMA peak, and its bytes: inputs and output from the smallest cache that holds them, packed
weights from there too when warm, from memory when cold. The peak is measured; bandwidths are those of `colonnade
machine`, or measured where that has not been run. Products of bytes keep their own weights, and their peak is four times
that of floats; that of pairs of bf16 (--math bf16) is twice, on matrix units sixteen times. A way that takes two and a half times the chosen one's time counts as no alternative.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

import encoders

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "choices"
LARGE = 64e6  # operations of a product from which on a share of the peak is asked of it
STATES = ("warm", "cold")


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev choices", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK",
                        help="names of models/networks.py or encoders.py, ONNX files, embedded:NAME (default: all names)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--isa", default="", help="tier (default: the best there is)")
    parser.add_argument("--blocking", default="", help="class of machine (default: this machine's)")
    parser.add_argument("--math", choices=("fast", "bf16"), default="fast")
    parser.add_argument("--seconds", type=float, default=0.25, help="to time a node (default: 0.25)")
    parser.add_argument("--rows", type=int, default=10, help="nodes of most regret that are printed (default: 10); 0: all")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    parser.add_argument("--tool", type=pathlib.Path, default=ROOT / "build" / "release" / "bench" / "colonnade-choices")
    return parser.parse_args(words)


def listed(script: pathlib.Path, *arguments: str) -> list[str]:
    done = subprocess.run([sys.executable, str(script), *arguments], capture_output=True, text=True, check=True)
    return [line.split()[0] for line in done.stdout.splitlines()]


def files_of(names: list[str]) -> list[str]:
    """Files of the networks, which are written when they are missing."""
    script = ROOT / "models" / "networks.py"
    makers = {name: [sys.executable, str(pathlib.Path(encoders.__file__)), str(HOME), name] for name in encoders.ENCODERS}
    if not names or any(not name.startswith("embedded:") and not name.endswith(".onnx") for name in names):
        for name in listed(script, "--list"):
            makers[name] = [sys.executable, str(script), "--out", str(HOME), name]
    files = []
    for name in names or makers:
        if name not in makers:
            files.append(name)
            continue
        file = HOME / f"{name}.onnx"
        if not file.exists():
            print(f"choices: writing {file.relative_to(ROOT)}", file=sys.stderr)
            subprocess.run(makers[name], check=True, stdout=subprocess.DEVNULL)
        files.append(str(file))
    return files


def measure(arguments: argparse.Namespace, files: list[str]) -> tuple[dict, list[dict]]:
    command = [str(arguments.tool), "--threads", str(arguments.threads), "--isa", arguments.isa, "--blocking",
               arguments.blocking, "--math", arguments.math, "--seconds", str(arguments.seconds), *files]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tool:
        lines = []
        for line in tool.stdout:
            lines.append(json.loads(line))
            if not arguments.json and sys.stderr.isatty():
                print(f"\rchoices: {len(lines) - 1} of {lines[0]['nodes']} nodes", end="", file=sys.stderr)
    if not arguments.json and sys.stderr.isatty():
        print(file=sys.stderr)
    if tool.returncode != 0:
        raise SystemExit(tool.returncode)
    return lines[0], lines[1:]


def gbs_of(machine: dict, held: float) -> float:
    for level in ("l1", "l2", "l3"):
        if held <= machine["cache_bytes"][level]:
            return machine["l2_gbs"] if level == "l1" else machine[f"{level}_gbs"]
    return machine["dram_gbs"]


def rate_of(machine: dict, encoding: str) -> float:
    """Products at the peak for one of floats. Matrix units do sixteen of bf16, and need six of them for a float's."""
    bf16 = {"amx": 16, "bf16": 2}.get(machine["isa"], 1)
    return {"f32": 1, "bf16": bf16, "bf16x3": bf16 / 6}[encoding]


def bound_us(machine: dict, node: dict, alternative: dict, state: str) -> float:
    threads = machine["threads"]
    arithmetic = node["flop"] * alternative["products"] / (machine["fma_gflops"] * threads)
    arithmetic /= rate_of(machine, alternative["encoding"])
    if node.get("bytes"):
        arithmetic /= 4  # where instructions multiply bytes
    weights, tensors = alternative["weights_bytes"], node["tensor_bytes"]
    near = gbs_of(machine, (tensors + weights if state == "warm" else tensors) / threads)
    moving = tensors / near + weights / (near if state == "warm" else machine["dram_gbs"])
    return max(arithmetic, moving / threads) / 1e3


def judge(machine: dict, nodes: list[dict]) -> None:
    """Adds to each node the chosen alternative, and by state the best one, the regret and the share of its bound."""
    for node in nodes:
        chosen = node["alternatives"][0]
        timed = [alternative for alternative in node["alternatives"] if "warm_us" in alternative]
        node["chosen"] = name_of(chosen)
        node["count"] = sum(node["models"].values())
        for state in STATES:
            best = min(timed, key=lambda alternative: alternative[f"{state}_us"])
            us = chosen[f"{state}_us"]
            node[state] = {"us": us, "best": name_of(best), "best_us": best[f"{state}_us"],
                           "regret": us / best[f"{state}_us"] - 1,
                           "bound_share": bound_us(machine, node, chosen, state) / us,
                           "peak_share": node["flop"] / us / 1e3 / machine["fma_gflops"] / machine["threads"]}


def name_of(alternative: dict) -> str:
    return alternative["kernel"] if alternative["family"] in alternative["kernel"] else \
        f"{alternative['family']}:{alternative['kernel']}"


def summary(nodes: list[dict]) -> dict:
    regrets = [node[state]["regret"] for node in nodes for state in STATES]
    time = sum(node["count"] * node[state]["us"] for node in nodes for state in STATES)
    best = sum(node["count"] * node[state]["best_us"] for node in nodes for state in STATES)
    large = [node for node in nodes if node["product"] and node["flop"] >= LARGE]
    shares = [(node[state]["peak_share"], node, state) for node in large for state in STATES]
    found = {"nodes": len(nodes), "mean_regret": statistics.fmean(regrets), "weighted_regret": time / best - 1,
             "most_regret": max(regrets), "over_10_percent": sum(regret > 0.1 for regret in regrets),
             "bound_share": {state: statistics.fmean(node[state]["bound_share"] for node in nodes) for state in STATES},
             "large_products": len(large)}
    if shares:
        least = min(shares, key=lambda share: share[0])
        found["large_product_shares"] = {"mean": statistics.fmean(share for share, _, _ in shares), "least": least[0],
                                         "least_node": least[1]["node"], "least_state": least[2]}
    return found


def by_network(nodes: list[dict]) -> dict:
    """Of each network: milliseconds of its nodes with warm weights, those of the best, and their bound."""
    sums: dict = {}
    for node in nodes:
        for name, count in node["models"].items():
            row = sums.setdefault(name.removesuffix(".onnx"), [0.0, 0.0, 0.0])
            warm = node["warm"]
            for i, us in enumerate((warm["us"], warm["best_us"], warm["us"] * warm["bound_share"])):
                row[i] += count * us / 1e3
    return {name: {"ms": ms, "best_ms": best, "bound_ms": bound} for name, (ms, best, bound) in sorted(sums.items())}


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def table(header: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [header, *rows]
    return "\n".join("  ".join([cells[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in
                                                             zip(cells[1:], widths[1:]))]) for cells in lines)


def text(report: dict, rows: int) -> str:
    machine, nodes, found = report["machine"], report["nodes"], report["summary"]
    worst = sorted(nodes, key=lambda node: max(node[state]["regret"] for state in STATES), reverse=True)
    cells = [[node["node"], str(node["count"]), node["chosen"]] +
             [value for state in STATES for value in (node[state]["best"], f"{node[state]['us']:.1f}",
                                                      percent(node[state]["regret"]),
                                                      percent(node[state]["bound_share"]))]
             for node in (worst[:rows] if rows else worst)]
    header = ["node", "count", "chosen"] + [f"{state} {what}" for state in STATES
                                            for what in ("best", "us", "regret", "of bound")]
    parts = [f"{machine['cpu']}, {machine['isa']}, blocking {machine['blocking']}, {machine['threads']} threads, "
             f"peak {machine['fma_gflops']:.1f} GFLOP/s a thread", table(header, cells),
             table(["network", "ms", "best", "bound"],
                   [[name, f"{row['ms']:.2f}", f"{row['best_ms']:.2f}", f"{row['bound_ms']:.2f}"]
                    for name, row in report["networks"].items()]),
             f"nodes            {found['nodes']}",
             f"regret           mean {percent(found['mean_regret'])}, by time {percent(found['weighted_regret'])}, "
             f"most {percent(found['most_regret'])}, over 10 %: {found['over_10_percent']}",
             f"share of bound   warm {percent(found['bound_share']['warm'])}, cold {percent(found['bound_share']['cold'])}"]
    if "large_product_shares" in found:
        shares = found["large_product_shares"]
        parts.append(f"large products   {found['large_products']}: mean {percent(shares['mean'])} of the peak, least "
                     f"{percent(shares['least'])} ({shares['least_node']}, {shares['least_state']})")
    return "\n".join(parts)


def main() -> int:
    arguments = parse(sys.argv[1:])
    machine, nodes = measure(arguments, files_of(arguments.networks))
    if not nodes:
        print("choices: no convolution and no product in these models", file=sys.stderr)
        return 2
    judge(machine, nodes)
    report = {"machine": machine, "summary": summary(nodes), "networks": by_network(nodes), "nodes": nodes}
    print(json.dumps(report, indent=1) if arguments.json else text(report, arguments.rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
