#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a host of many models: bench/server/many_models.py [--models 500] [--hot 20] [--limit 256M].

Serves copies of a small network (products of 512 x 512, `--layers` of them) under `--memory-limit` and `--unload idle`,
with compiled files. Most requests ask for the hot models, one in fifty for any. Printed are times of requests that found
their model loaded and of those that waited for it, and the most memory that the process had beside its limit.
"""
from __future__ import annotations

import argparse
import http.client
import json
import os
import pathlib
import random
import re
import statistics
import struct
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "server")]
import serving  # noqa: E402
from tiny_onnx import _field, _tensor  # noqa: E402

WIDTH = 512


def network(layers: int, seed: int) -> bytes:
    generator = random.Random(seed)
    block = [generator.uniform(-0.05, 0.05) for _ in range(WIDTH)]
    graph = b""
    for layer in range(layers):
        block = block[1:] + block[:1]
        raw = struct.pack(f"<{WIDTH}f", *block) * WIDTH
        name, before, after = f"w{layer}", f"h{layer}" if layer else "x", f"h{layer + 1}" if layer + 1 < layers else "y"
        node = _field(1, before) + _field(1, name) + _field(2, after) + _field(3, name + "n") + _field(4, "MatMul")
        graph += _field(1, node)
        graph += _field(5, _field(1, WIDTH) + _field(1, WIDTH) + _field(2, 1) + _field(8, name) + _field(9, raw))
    graph += _field(2, "net") + _field(11, _tensor("x", [1, WIDTH])) + _field(12, _tensor("y", [1, WIDTH]))
    return _field(1, 8) + _field(7, graph) + _field(8, _field(2, 17))


def resident_mib(pid: int) -> float:
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


class Client:
    def __init__(self, url: str):
        self.connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
        values = struct.pack(f"<{WIDTH}f", *[0.5] * WIDTH)
        head = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, WIDTH],
                                       "parameters": {"binary_data_size": len(values)}}]}).encode()
        self.body, self.headers = head + values, {"Inference-Header-Content-Length": str(len(head))}

    def ask(self, model: str) -> float:
        begin = time.perf_counter()
        self.connection.request("POST", f"/v2/models/{model}/infer", self.body, self.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{model}: status {answer.status}: {text[:300]!r}")
        return (time.perf_counter() - begin) * 1e3


def is_loaded(url: str, model: str) -> bool:
    metrics = urllib.request.urlopen(f"{url}/metrics", timeout=10).read().decode()
    needed = re.search(rf'^colonnade_model_memory_bytes{{model="{model}",version="1"}} (\S+)', metrics, re.MULTILINE)
    return float(needed[1]) > 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=500)
    parser.add_argument("--hot", type=int, default=20)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--limit", default="256M")
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "colonnade"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models, compiled = pathlib.Path(folder) / "models", pathlib.Path(folder) / "compiled"
        compiled.mkdir()
        for i in range(given.models):
            (models / f"m{i}" / "1").mkdir(parents=True)
            (models / f"m{i}" / "1" / "model.onnx").write_bytes(network(given.layers, i % 7))
        begin = time.perf_counter()
        server = serving.Server(given.program, models, "--http-port", 0, "--grpc-port", -1, "--metrics-port", -1,
                                "--memory-limit", given.limit, "--unload", "idle", "--compiled-folder", compiled)
        print(f"ready after {time.perf_counter() - begin:.1f} s")
        try:
            measure(server, given)
        finally:
            server.stop()


def measure(server: serving.Server, given: argparse.Namespace) -> None:
    client, generator = Client(server.url), random.Random(1)
    most, over = [0.0], threading.Event()

    def watch() -> None:
        while not over.wait(0.005):
            most[0] = max(most[0], resident_mib(server._process.pid))

    for i in range(given.models):  # compiled files are written
        client.ask(f"m{i}")
    watcher = threading.Thread(target=watch)
    watcher.start()
    hot, cold = [], []
    for _ in range(given.requests):
        is_any = generator.random() < 0.02
        model = f"m{generator.randrange(given.hot, given.models) if is_any else generator.randrange(given.hot)}"
        loaded = is_loaded(server.url, model) if is_any else True
        (hot if loaded else cold).append(client.ask(model))
    over.set()
    watcher.join()
    metrics = urllib.request.urlopen(server.url + "/metrics", timeout=10).read().decode()
    taken = re.search(r"^colonnade_memory_taken_bytes (\S+)", metrics, re.MULTILINE)
    for name, times in (("hot", hot), ("cold", cold)):
        times.sort()
        print(f"{name}: {len(times)} requests, p50 {statistics.median(times):.2f} ms, "
              f"p99 {times[int(len(times) * 0.99)]:.2f} ms")
    print(f"limit {given.limit}, needed by loaded models {float(taken[1]) / 2**20:.0f} MiB, "
          f"most resident {most[0]:.0f} MiB")


if __name__ == "__main__":
    main()
