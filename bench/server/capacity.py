#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what sizes a host: ./dev serve-bench --table [MODELS...].

For each model (an ONNX file, or a network's name as in ./dev peers), served alone on some cores: requests a second and
core over HTTP with binary tensors and their latencies at 70 % of that (medians of some rounds, random times), the memory
that it needs (what the server says, and what its process grew by), and how long a client waits that has it loaded and
asks it: from the ONNX file and from the compiled one, files being in the system's cache.
"""
from __future__ import annotations

import argparse
import http.client
import json
import os
import pathlib
import shutil
import statistics
import struct
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "peers")]
import compare  # noqa: E402
import environment  # noqa: E402

NETWORKS = ["mobilenet_v2", "resnet50", "yolov8n_640", "minilm_text_own"]
TOKENS = 128  # of open dimensions behind the first
MIB = 2**20
LOADS = 3  # of which the median is taken


class Host:
    """`colonnade serve` with a tiny model, so that what any model needs once is there; others load as clients ask."""

    def __init__(self, cores: list[int], repository: pathlib.Path, *arguments: str):
        command = [str(compare.BUILD / "colonnade"), "serve", str(repository), "embedded:digits", "--http-port", "0",
                   "--grpc-port", "-1", "--metrics-port", "-1", "--model-control-mode", "explicit", "--load-model", "digits",
                   *arguments]
        self.server = compare.Server(command, cores)
        self.port = int(json.loads(self.server.process.stderr.readline())["http"].rsplit(":", 1)[1])
        self.server.wait_for(f"http://127.0.0.1:{self.port}/v2/health/ready")
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def ask(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> bytes:
        self.connection.request(method, path, body, headers or {})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{method} {path}: {answer.status} {text[:300]!r}")
        return text

    def resident(self) -> int:
        with open(f"/proc/{self.server.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def request_for(metadata: dict) -> tuple[bytes, list[str]]:
    """A request of one sample: pictures of random numbers, texts of TOKENS tokens."""
    tensors, data = [], b""
    for info in metadata["inputs"]:
        shape = [int(dim) if int(dim) > 0 else 1 if axis == 0 else TOKENS for axis, dim in enumerate(info["shape"])]
        if info["datatype"] == "FP32":
            raw = struct.pack(f"<{compare.count(shape)}f", *compare.values(shape))
        elif info["datatype"] == "INT64":
            numbers = [1 if "mask" in info["name"] else 100 + i for i in range(compare.count(shape))]
            raw = struct.pack(f"<{len(numbers)}q", *numbers)
        else:
            raise SystemExit(f"input '{info['name']}': expected FP32 or INT64, found {info['datatype']}")
        tensors.append({"name": info["name"], "shape": shape, "datatype": info["datatype"],
                        "parameters": {"binary_data_size": len(raw)}})
        data += raw
    head = json.dumps({"inputs": tensors, "parameters": {"binary_data_output": True}}).encode()
    return head + data, [f"Inference-Header-Content-Length: {len(head)}", "Content-Type: application/octet-stream"]


def headers_of(lines: list[str]) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in lines)


def load_and_ask(host: Host, name: str, known: tuple[bytes, dict[str, str]] | None) -> float:
    begin = time.perf_counter()
    host.ask("POST", f"/v2/repository/models/{name}/load")
    if known is not None:
        host.ask("POST", f"/v2/models/{name}/infer", *known)
    return time.perf_counter() - begin


def measure(name: str, repository: pathlib.Path, folder: pathlib.Path, arguments: argparse.Namespace) -> dict:
    host = Host(arguments.cores, repository)
    load = compare.Load(arguments.load_cores, arguments.seconds, 2 * len(arguments.cores))
    try:
        digits, lines = request_for(json.loads(host.ask("GET", "/v2/models/digits")))
        host.ask("POST", "/v2/models/digits/infer", digits, headers_of(lines))
        before = host.resident()
        load_and_ask(host, name, None)
        metadata = json.loads(host.ask("GET", f"/v2/models/{name}"))
        body, lines = request_for(metadata)
        known = (body, headers_of(lines))
        path, file = f"/v2/models/{name}/infer", folder / "body"
        file.write_bytes(body)
        rounds = [load(host.port, path, file, lines) for _ in range(arguments.rounds)]
        fastest = compare.median(rounds, "requests_per_second")
        rate = compare.OFFERED * fastest["requests_per_second"]
        at_70 = compare.median([load(host.port, path, file, lines, rate) for _ in range(arguments.rounds)], "p99_ms")
        row = {"requests": fastest["requests_per_second"] / len(arguments.cores), "at_70": at_70,
               "needed": int(metadata["parameters"]["memory_bytes"]), "grown": host.resident() - before}
        row["onnx"] = statistics.median(unload_and_load(host, name, known) for _ in range(LOADS))
    finally:
        host.server.stop()
    compiled = folder / "compiled"
    compiled.mkdir(exist_ok=True)
    host = Host(arguments.cores, repository, "--compiled-folder", str(compiled))
    try:
        load_and_ask(host, name, known)
        row["compiled"] = statistics.median(unload_and_load(host, name, known) for _ in range(LOADS))
    finally:
        host.server.stop()
    row["files"] = sum(file.stat().st_size for file in compiled.iterdir())
    shutil.rmtree(compiled)
    return row


def unload_and_load(host: Host, name: str, known: tuple[bytes, dict[str, str]]) -> float:
    host.ask("POST", f"/v2/repository/models/{name}/unload")
    while len(json.loads(host.ask("POST", "/v2/repository/index", b'{"ready": true}'))) > 1:
        time.sleep(0.01)
    return load_and_ask(host, name, known)


def main() -> int:
    cores = sorted(os.sched_getaffinity(0))
    numbers = lambda text: [int(part) for part in text.split(",")]  # noqa: E731
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=NETWORKS)
    parser.add_argument("--cores", type=numbers, default=cores[:1], help="of the server")
    parser.add_argument("--load-cores", type=numbers, default=cores[-1:])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print("| model | file, MiB | requests/s a core | p50, p99 at 70 %, ms | memory: said, found, MiB "
          "| load and first answer, ms: ONNX, compiled | compiled file, MiB |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for file in environment.find_models(arguments.models):
            home = folder / "models" / file.stem / "1"
            home.mkdir(parents=True)
            shutil.copy(file, home / "model.onnx")
            row = measure(file.stem, folder / "models", folder, arguments)
            print(f"| {file.stem} | {file.stat().st_size / MIB:.1f} | {row['requests']:.1f} "
                  f"| {row['at_70']['p50_ms']:.2f}, {row['at_70']['p99_ms']:.2f} "
                  f"| {row['needed'] / MIB:.1f}, {row['grown'] / MIB:.1f} "
                  f"| {1000 * row['onnx']:.0f}, {1000 * row['compiled']:.0f} | {row['files'] / MIB:.1f} |", flush=True)
            shutil.rmtree(home.parent)
    return 0


if __name__ == "__main__":
    sys.exit(main())
