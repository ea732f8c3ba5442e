#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures `colonnade serve`: ./dev serve-bench [--cores 0,1,2] [--load-cores 3].

Server and load generator have cores of their own. Printed are, for a tiny model and one of some milliseconds: what the
library does on the server's cores, what the server does, its latencies at 70 % of that (medians of some rounds; with
requests at random times, and evenly spaced as perf_analyzer sends them unless told otherwise), and what FastAPI with
ONNX Runtime does on the same cores under the same generator with the same JSON.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
MODELS = {"digits": ("image", [1, 1, 28, 28]), "mobilenet": ("image", [1, 3, 224, 224])}
OFFERED = 0.7


def pinned(cores: list[int]):
    return lambda: os.sched_setaffinity(0, cores)


def count(shape: list[int]) -> int:
    total = 1
    for dim in shape:
        total *= dim
    return total


class Server:
    """A process that answers at `port` once `url` does."""

    def __init__(self, command: list[str], cores: list[int], environment: dict[str, str] | None = None):
        self.process = subprocess.Popen(command, preexec_fn=pinned(cores), stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **(environment or {})})

    def wait_for(self, url: str) -> None:
        for _ in range(600):
            try:
                urllib.request.urlopen(url, timeout=5).read()
                return
            except (urllib.error.URLError, ConnectionError):
                if self.process.poll() is not None:
                    raise SystemExit(f"the server ended: {self.process.stderr.read()}")
                time.sleep(0.1)
        raise SystemExit("the server did not become ready")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)


class Load:
    def __init__(self, cores: list[int], seconds: float, connections: int):
        self.cores, self.seconds, self.connections = cores, seconds, connections

    def __call__(self, port: int, path: str, body: pathlib.Path, headers: list[str], rate: float = 0,
                 arrivals: str = "poisson") -> dict:
        command = [BUILD / "bench" / "colonnade-load", "--port", port, "--path", path, "--body", body, "--seconds",
                   self.seconds, "--connections", self.connections * (4 if rate else 1), "--rate", rate,
                   "--arrivals", arrivals]
        for header in headers:
            command += ["--header", header]
        done = subprocess.run([str(part) for part in command], preexec_fn=pinned(self.cores), capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        result = json.loads(done.stdout)
        if set(result["statuses"]) != {"200"}:
            raise SystemExit(f"not all requests were answered: {result['statuses']}")
        return result


def values(shape: list[int]) -> list[float]:
    """The same ones in every run, floats of 32 bits: what is equal or has few bits is faster to multiply and to read."""
    generator = random.Random(1)
    packed = struct.pack(f"<{count(shape)}f", *(generator.random() for _ in range(count(shape))))
    return list(struct.unpack(f"<{count(shape)}f", packed))


def binary_body(name: str, shape: list[int], folder: pathlib.Path) -> tuple[pathlib.Path, list[str]]:
    data = struct.pack(f"<{count(shape)}f", *values(shape))
    head = json.dumps({"inputs": [{"name": name, "shape": shape, "datatype": "FP32",
                                   "parameters": {"binary_data_size": len(data)}}],
                       "parameters": {"binary_data_output": True}}).encode()
    path = folder / "binary"
    path.write_bytes(head + data)
    return path, [f"Inference-Header-Content-Length: {len(head)}", "Content-Type: application/octet-stream"]


def json_body(name: str, shape: list[int], folder: pathlib.Path) -> tuple[pathlib.Path, list[str]]:
    path = folder / "json"
    data = [float(f"{value:.9g}") for value in values(shape)]  # the digits that 32 bits need, as clients write them
    path.write_text(json.dumps({"inputs": [{"name": name, "shape": shape, "datatype": "FP32", "data": data}]}))
    return path, ["Content-Type: application/json"]


def library(model: str, cores: list[int], seconds: float) -> float:
    done = subprocess.run([BUILD / "colonnade", "bench", f"embedded:{model}", "--threads", str(len(cores)), "--streams",
                           str(len(cores)), "--duration", str(seconds), "--json"], preexec_fn=pinned(cores),
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["runs_per_s"]


def median(results: list[dict], key: str) -> dict:
    return sorted(results, key=lambda result: result[key])[len(results) // 2]


def measure_colonnade(arguments: argparse.Namespace, folder: pathlib.Path, load: Load) -> dict:
    server = Server([str(BUILD / "colonnade"), "serve", "--http-port", "0", "--grpc-port", "-1", "--metrics-port", "-1",
                     *arguments.serve], arguments.cores)
    rows = {}
    try:
        port = int(json.loads(server.process.stderr.readline())["http"].rsplit(":", 1)[1])
        server.wait_for(f"http://127.0.0.1:{port}/v2/health/ready")
        for model in arguments.models:
            path = f"/v2/models/{model}/infer"
            body, headers = binary_body(*MODELS[model], folder)
            # In turns, as the machine may be faster now than then; an idle server takes no processor.
            rounds = [(library(model, arguments.cores, arguments.seconds), load(port, path, body, headers))
                      for _ in range(arguments.rounds)]
            binary = median([server for _, server in rounds], "requests_per_second")
            at_70 = {arrivals: median([load(port, path, body, headers, OFFERED * binary["requests_per_second"],
                                            arrivals) for _ in range(arguments.rounds)], "p99_ms")
                     for arrivals in ("poisson", "constant")}
            text, text_headers = json_body(*MODELS[model], folder)
            rows[model] = {"library": statistics.median_high(runs for runs, _ in rounds), "binary": binary,
                           "at_70_percent": at_70, "json": load(port, path, text, text_headers)}
    finally:
        server.stop()
    return rows


def measure_fastapi(arguments: argparse.Namespace, model: str, folder: pathlib.Path, load: Load) -> dict:
    python = pathlib.Path(arguments.venv) / "bin" / "python"
    port = 18080
    servers = [Server([str(python), str(ROOT / "bench" / "server" / "fastapi_server.py"), str(port)], arguments.cores,
                      {"MODEL": str(ROOT / "models" / "embedded" / f"{model}.onnx")}) for _ in arguments.cores]
    try:
        time.sleep(5)  # all are there; one alone would answer too
        servers[0].wait_for(f"http://127.0.0.1:{port}/openapi.json")
        text, headers = json_body(*MODELS[model], folder)
        return load(port, "/infer", text, headers)
    finally:
        for server in servers:
            server.stop()


def line(label: str, value: dict) -> str:
    return (f"  {label:28}{value['requests_per_second']:10.1f} requests/s   p50 {value['p50_ms']:.3f} ms   "
            f"p99 {value['p99_ms']:.3f} ms   p99/p50 {value['p99_ms'] / value['p50_ms']:.2f}")


def main() -> int:
    cores = sorted(os.sched_getaffinity(0))
    numbers = lambda text: [int(part) for part in text.split(",")]  # noqa: E731
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS))
    parser.add_argument("--cores", type=numbers, default=cores[:-1] or cores)
    parser.add_argument("--load-cores", type=numbers, default=cores[-1:])
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3, help="of library and server in turns; medians are printed")
    parser.add_argument("--connections", type=int, default=0, help="default: twice the server's cores")
    parser.add_argument("--venv", default="", help="a virtual environment with fastapi, uvicorn and onnxruntime")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", nargs=argparse.REMAINDER, default=[], help="more arguments of colonnade serve")
    arguments = parser.parse_args()
    load = Load(arguments.load_cores, arguments.seconds, arguments.connections or 2 * len(arguments.cores))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rows = measure_colonnade(arguments, folder, load)
        for model, row in rows.items():
            if arguments.venv:
                row["fastapi"] = measure_fastapi(arguments, model, folder, load)
    if arguments.json:
        print(json.dumps(rows))
        return 0
    for model, row in rows.items():
        share = row["binary"]["requests_per_second"] / row["library"]
        print(f"{model}\n  {'library':28}{row['library']:10.1f} runs/s")
        print(line("server, binary", row["binary"]) + f"   {share:.0%} of the library")
        for arrivals, result in row["at_70_percent"].items():
            print(line(f"at {OFFERED:.0%} of that, {arrivals}", result))
        print(line("server, JSON", row["json"]))
        if "fastapi" in row:
            times = row["json"]["requests_per_second"] / row["fastapi"]["requests_per_second"]
            print(line("FastAPI + ONNX Runtime, JSON", row["fastapi"]) + f"   the server is {times:.1f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
