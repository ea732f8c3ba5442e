#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Texts of mixed lengths by Colonnade and its peers: ./dev peers --text [MODEL...], ONNX files or encoders.py's names.

256 texts, lengths log-normal with a median of 180, cut to 8 to 480 tokens, one a call and in batches of 16 padded to
the longest. Every engine is a process of its own that loads the model with open sizes; passes over all texts go from
engine to engine.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

TEXTS, MEDIAN, SPREAD, SHORTEST, LONGEST = 256, 180, 0.6, 8, 480
ENGINES = ("colonnade", "onnxruntime", "openvino:f32", "openvino")


def mix(count: int) -> list[int]:
    import numpy as np

    drawn = np.random.default_rng(1).lognormal(np.log(MEDIAN), SPREAD, count)
    return [int(length) for length in np.clip(drawn, SHORTEST, LONGEST)]


def batches(lengths: list[int], size: int):
    """Ids and masks of the texts, `size` a batch."""
    import numpy as np

    random = np.random.default_rng(2)
    for first in range(0, len(lengths), size):
        part = lengths[first:first + size]
        mask = (np.arange(max(part))[None, :] < np.array(part)[:, None]).astype(np.int64)
        yield random.integers(5, 200, mask.shape) * mask + (1 - mask), mask


def colonnade(model: str, threads: int, _: str):
    import colonnade as engine

    session = engine.Session(model, threads=threads)
    return lambda feeds: list(session.run(feeds).values())[0], [value.name for value in session.model.inputs]


def onnxruntime(model: str, threads: int, _: str):
    import onnxruntime as engine

    options = engine.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    session = engine.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)[0], [value.name for value in session.get_inputs()]


def openvino(model: str, threads: int, precision: str):
    import openvino as engine

    config = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": "1"}
    if precision:
        config["INFERENCE_PRECISION_HINT"] = precision
    compiled = engine.Core().compile_model(model, "CPU", config)
    request = compiled.create_infer_request()
    return lambda feeds: request.infer(feeds)[compiled.outputs[0]], [port.any_name for port in compiled.inputs]


def memory_mb(field: str) -> float:
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return 0


def work(engine: str, model: str, threads: int, count: int) -> None:
    """Answers each line, the size of batches, with one pass over the texts."""
    name, _, variant = engine.partition(":")
    idle = memory_mb("VmRSS")
    engines = {"colonnade": colonnade, "onnxruntime": onnxruntime, "openvino": openvino}
    call, names = engines[name](model, threads, variant)
    lengths = mix(count)
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        size, spent, total = int(line), [], 0.0
        for ids, mask in batches(lengths, size):
            feeds = {given: mask if "mask" in given else ids * 0 if "type" in given else ids for given in names}
            start = time.perf_counter()
            result = call(feeds)
            spent.append(time.perf_counter() - start)
            total += float((abs(result) * (mask[:, :, None] if result.ndim == 3 else 1)).sum())
        reply = {"ms": 1e3 * sum(spent) / count, "sum": total, "peak": memory_mb("VmHWM") - idle}
        print(json.dumps(reply), file=replies, flush=True)


class Worker:
    def __init__(self, engine: str, model: pathlib.Path, arguments: argparse.Namespace):
        command = [sys.executable, "-B", __file__, "--worker", engine, "--threads", str(arguments.threads)]
        command += ["--texts", str(arguments.texts), str(model)]
        cores = set(sorted(os.sched_getaffinity(0))[:arguments.threads])
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: os.sched_setaffinity(0, cores))

    def run(self, size: int) -> dict:
        self.process.stdin.write(f"{size}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the engine stopped")
        return json.loads(line)

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def measured(model: pathlib.Path, size: int, arguments: argparse.Namespace) -> dict[str, dict]:
    """By engine: ms a text while lengths are new, and the median of later passes; memory above the idle process."""
    workers, rows = {}, {}
    for engine in arguments.engines:
        workers[engine] = Worker(engine, model, arguments)
    for turn in range(1 + arguments.rounds):
        for engine in [engine for engine in workers if engine not in rows or "error" not in rows[engine]]:
            try:
                reply = workers[engine].run(size)
            except (RuntimeError, BrokenPipeError) as error:
                rows[engine] = {"error": str(error)}
                continue
            row = rows.setdefault(engine, {"new": reply["ms"], "later": [], "sum": reply["sum"]})
            row["peak"] = reply["peak"]
            if turn > 0:
                row["later"].append(reply["ms"])
    for worker in workers.values():
        worker.end()
    return rows


def table(rows: dict[str, dict], size: int) -> str:
    lines = []
    for engine, row in rows.items():
        if "error" in row:
            lines.append(f"| {engine} | {size} | {row['error']} | | | |")
            continue
        later = sorted(row["later"])
        ours = rows.get("colonnade", {}).get("sum")
        differs = f"{abs(row['sum'] / ours - 1):.0e}" if ours else ""
        times = f"{row['new']:.2f} | {later[len(later) // 2]:.2f}"
        lines.append(f"| {engine} | {size} | {times} | {row['peak']:.0f} | {differs} |")
    return "\n".join(lines)


def main(given: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev peers --text", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("models", nargs="*", default=["minilm_text"], metavar="MODEL")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--texts", type=int, default=TEXTS)
    parser.add_argument("--rounds", type=int, default=3, help="passes over all texts after the first (default: 3)")
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[1, 16],
                        help="texts a call, comma separated (default: 1,16)")
    parser.add_argument("--engines", type=lambda text: text.split(","), default=list(ENGINES),
                        help="comma separated (default: all)")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args(given)
    if arguments.worker:
        work(arguments.worker, arguments.models[0], arguments.threads, arguments.texts)
        return 0
    import environment

    for name in arguments.models:
        file = pathlib.Path(name)
        if not file.is_file():
            file = environment.make_network(name)
        print(f"{file.stem}, {arguments.threads} threads, {arguments.texts} texts; ms a text, MB")
        print("| engine | texts a call | new lengths | later | peak above idle | difference of sums |")
        print("|---|---|---|---|---|---|")
        for size in arguments.sizes:
            print(table(measured(file, size, arguments), size), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
