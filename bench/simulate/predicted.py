#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted beside measured time: `colonnade simulate` on this machine, then `colonnade bench`, a network at a time."""
import argparse
import json
import math
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def answer(command: list[str]) -> dict:
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measured_ms(cli: str, model: str, threads: int, duration: float, rounds: int) -> float:
    """The least of some rounds' medians: what else the machine does only makes runs longer."""
    command = [cli, "bench", model, "--threads", str(threads), "--duration", str(duration), "--json", "--duel", "off"]
    return min(answer(command)["latency_ms"]["p50"] for _ in range(rounds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help="ONNX files; default: those that ./dev peers has made")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--duration", type=float, default=0.4, help="seconds of a round")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--cli", default=str(ROOT / "build/release/colonnade"))
    arguments = parser.parse_args()
    models = arguments.models or sorted(map(str, (ROOT / "build/peers/models").glob("*.onnx")))
    if not models:
        parser.error("no models: name some, or let ./dev peers make its own")
    teams = [int(count) for count in arguments.threads.split(",")]
    heads = [f"predicted, {team} | measured | ratio" for team in teams]
    print(f"| network | {' | '.join(heads)} |\n|---|{'---|' * 3 * len(teams)}")
    ratios: dict[int, list[float]] = {team: [] for team in teams}
    for model in models:
        report = answer([arguments.cli, "simulate", model, "--json", "--threads", arguments.threads])
        cells = []
        for team, run in zip(teams, report["runs"]):
            measured = measured_ms(arguments.cli, model, team, arguments.duration, arguments.rounds)
            ratios[team].append(run["ms"] / measured)
            cells.append(f"{run['ms']:.3g} | {measured:.3g} | {ratios[team][-1]:.2f}")
        print(f"| {pathlib.Path(model).stem} | {' | '.join(cells)} |", flush=True)
    for team, all_ratios in ratios.items():
        mean = math.exp(sum(map(math.log, all_ratios)) / len(all_ratios))
        within = sum(abs(ratio - 1) <= 0.15 for ratio in all_ratios)
        print(f"\n{team} threads: geometric mean {mean:.2f}, {min(all_ratios):.2f} to {max(all_ratios):.2f}, "
              f"{within} of {len(all_ratios)} within 15 %")


if __name__ == "__main__":
    main()
