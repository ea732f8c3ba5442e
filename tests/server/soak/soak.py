#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mixed load over eight models for a while: ./dev soak, or the short form among the tests.

Steady clients check every answer bit by bit; others are impatient, leave in the middle, send nonsense, flood, or load and
unload models. An answer's bits must be those of its input alone, whatever batch the server made. At the end the server is
told to stop under load. It fails when an answer is wrong or missing, when a request is refused without a reason, when
memory grows, when the server's own counts disagree, or when it does not exit with 0.

Environment: COLONNADE_CLI, the program; COLONNADE_MODELS, the folder of digits.onnx, mobilenet.onnx and unet.onnx. A
client of gRPC takes part where this Python has tritonclient.
"""
from __future__ import annotations

import argparse
import collections
import http.client
import itertools
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

try:
    import numpy
    import tritonclient.grpc as triton
except ImportError:
    triton = None

from load import IMAGE, MODELS, infer_request, make_repository, tensor, whole_request

INPUTS = 4  # different ones a model
# Statuses that say "not now" with a reason.
BUSY = {503, 504}
ABSENT = {400, 404, 503}


class Server:
    def __init__(self, program: str, repository: pathlib.Path):
        self.process = subprocess.Popen(
            [program, "serve", str(repository), "--http-port", "0", "--grpc-port", "0", "--metrics-port", "-1",
             "--http-address", "127.0.0.1", "--grpc-address", "127.0.0.1", "--model-control-mode", "explicit", "--load-model", "*"],
            stderr=subprocess.PIPE, text=True)
        first = json.loads(self.process.stderr.readline())
        self.port, self.grpc_port = (int(first[key].rsplit(":", 1)[1]) for key in ("http", "grpc"))
        self.log: collections.deque[str] = collections.deque(maxlen=50)
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()

    def call(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def wait_until_ready(self) -> None:
        for _ in range(600):
            if self.call("GET", "/v2/health/ready")[0] == 200:
                return
            time.sleep(0.1)
        raise SystemExit("the server did not become ready")

    def resident_megabytes(self) -> float:
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        return 0


class Soak:
    def __init__(self, server: Server, seed: int, spoil: bool):
        self.server = server
        self.seed = seed
        self.inputs = {name: [tensor(source, i) for i in range(INPUTS)] for name, (source, _) in MODELS.items()}
        self.expected: dict[tuple[str, int], bytes] = {}
        self.spoil = spoil
        self.over = threading.Event()
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.problems: list[str] = []
        self.counts: collections.Counter[str] = collections.Counter()

    def count(self, what: str) -> None:
        with self.lock:
            self.counts[what] += 1

    def complain(self, what: str) -> None:
        with self.lock:
            self.problems.append(what)
        self.over.set()

    def learn(self) -> None:
        """The answers of a server without load, which are the same in batches of all sizes that it may make."""
        for name, inputs in self.inputs.items():
            status, config = self.server.call("GET", f"/v2/models/{name}/config")
            if status != 200:
                raise SystemExit(f"{name}: {status} {config[:200]!r}")
            for i, data in enumerate(inputs):
                self.expected[name, i] = self.alone(name, data, json.loads(config)["max_batch_size"])
            for i, j in itertools.combinations(range(INPUTS), 2):
                if self.expected[name, i] == self.expected[name, j]:
                    raise SystemExit(f"{name}: inputs {i} and {j} have the same answer, which tells nothing")

    def alone(self, name: str, data: bytes, most: int) -> bytes:
        answers: list[bytes] = []
        for samples in (1, 2, 4, 8, 16):
            if samples > max(1, most):
                break
            body, headers = infer_request(name, data * samples, samples=samples)
            status, answer = self.server.call("POST", f"/v2/models/{name}/infer", body, headers)
            if status != 200:
                raise SystemExit(f"{name}: {status} {answer[:200]!r}")
            values = self.values(answer)
            size = len(values) // samples
            answers += [values[k * size:(k + 1) * size] for k in range(samples)]
        if len(set(answers)) > 1:
            raise SystemExit(f"{name}: in batches the answer has other bits than that of the input alone")
        return answers[0]

    @staticmethod
    def values(answer: bytes) -> bytes:
        """The raw tensors, which follow the JSON object."""
        return answer[json.JSONDecoder().raw_decode(answer.decode("latin-1"))[1]:]

    def check(self, who: str, name: str, index: int, status: int, answer: bytes, allowed: set[int]) -> None:
        self.count(f"{who} {status}")
        if status == 200:
            self.check_values(who, name, index, self.values(answer))
        elif status not in allowed and not (self.stopping.is_set() and status == 503):
            self.complain(f"{who}: {name}: status {status}: {answer[:200]!r}")
        else:
            self.check_reason(who, status, answer)

    def check_values(self, who: str, name: str, index: int, found: bytes) -> None:
        if self.spoil and not self.stopping.is_set():
            found = bytes([found[0] ^ 1]) + found[1:]
        if found != self.expected[name, index]:
            self.complain(f"{who}: {name}: another request's answer, or a wrong one")

    def check_reason(self, who: str, status: int, answer: bytes) -> None:
        try:
            reason = json.loads(answer)["error"]
        except (ValueError, KeyError, TypeError):
            reason = ""
        if not reason:
            self.complain(f"{who}: status {status} without a reason: {answer[:200]!r}")

    def client(self, who: str, work) -> None:
        """Calls `work` with a connection until it is over. While the server stops new connections may be refused, but
        what was sent along one that the server has answered on is answered, or refused with a reason."""
        generator = random.Random(f"{self.seed} {who}")
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        while not self.over.is_set():
            is_new = connection.sock is None
            try:
                work(generator, connection)
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if self.stopping.is_set() and (is_new or isinstance(error, ConnectionRefusedError)):
                    return
                self.complain(f"{who}: {error!r}")
        connection.close()

    def ask(self, who: str, connection, name: str, index: int, allowed: set[int], parameters: dict | None = None) -> None:
        body, headers = infer_request(name, self.inputs[name][index], parameters)
        connection.request("POST", f"/v2/models/{name}/infer", body, headers)
        response = connection.getresponse()
        self.check(who, name, index, response.status, response.read(), allowed)

    def steady(self, generator, connection) -> None:
        name = generator.choice([name for name in MODELS if name not in ("coming", "narrow")])
        self.ask("steady", connection, name, generator.randrange(INPUTS), set(),
                 {"priority": generator.randrange(4)} if name == "urgent" else None)

    def steady_grpc(self, who: str) -> None:
        """As `steady`, over gRPC."""
        generator = random.Random(f"{self.seed} {who}")
        client = triton.InferenceServerClient(f"127.0.0.1:{self.server.grpc_port}")
        while not self.over.is_set():
            name, index = generator.choice(["digits", "batched", "mobilenet", "unet"]), generator.randrange(INPUTS)
            shape = [1, *IMAGE[MODELS[name][0]]]
            given = triton.InferInput("image", shape, "FP32")
            given.set_data_from_numpy(numpy.frombuffer(self.inputs[name][index], numpy.float32).reshape(shape))
            try:
                answer = client.infer(name, [given])
            except triton.InferenceServerException as error:
                # Either it says why, or there is nobody to connect to.
                if not self.stopping.is_set() or not any(why in str(error) for why in ("shutting down", "connect")):
                    self.complain(f"{who}: {name}: {error}")
                self.count(f"{who} refused")
                if self.stopping.is_set():
                    return
            else:
                self.count(f"{who} 200")
                self.check_values(who, name, index, b"".join(answer.get_response().raw_output_contents))

    def visitor(self, generator, connection) -> None:
        self.ask("visitor", connection, "coming", generator.randrange(INPUTS), ABSENT)

    def impatient(self, generator, connection) -> None:
        name = generator.choice(["unet", "mobilenet", "digits", "narrow"])
        self.ask("impatient", connection, name, generator.randrange(INPUTS), BUSY,
                 {"timeout": generator.choice([1, 100, 1000, 5000, 20000])})

    def flood(self, generator, connection) -> None:
        """Many requests at once for a model with a short queue."""
        body, headers = infer_request("narrow", self.inputs["narrow"][0])
        request = whole_request("/v2/models/narrow/infer", body, headers)
        sockets = [socket.create_connection(("127.0.0.1", self.server.port), timeout=60) for _ in range(24)]
        for each in sockets:
            each.sendall(request)
        for each in sockets:
            response = http.client.HTTPResponse(each)
            response.begin()
            self.check("flood", "narrow", 0, response.status, response.read(), BUSY)
            each.close()
        time.sleep(0.05 * generator.random())

    def leaver(self, generator, connection) -> None:
        name = generator.choice(["unet", "mobilenet", "batched"])
        body, headers = infer_request(name, self.inputs[name][0])
        request = whole_request(f"/v2/models/{name}/infer", body, headers)
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as leaving:
            leaving.sendall(request[:generator.choice([10, 200, len(request) // 2, len(request)])])
            time.sleep(0.01 * generator.random())
        self.count("leaver left")

    def nonsense(self, generator, connection) -> None:
        good, headers = infer_request("digits", self.inputs["digits"][0])
        size = int(headers["Inference-Header-Content-Length"])
        path, body, sent = generator.choice([
            ("/v2/models/digits/infer", b"{", {}),
            ("/v2/models/digits/infer", b'{"inputs":[]}', {}),
            ("/v2/models/digits/infer", b"[" * 200, {}),
            ("/v2/models/digits/infer", b'{"inputs":[{"name":"image","shape":[1,1,28,27],"datatype":"FP32","data":[0]}]}', {}),
            ("/v2/models/digits/infer", b'{"inputs":[{"name":"image","shape":[-1],"datatype":"INT9","data":"x"}]}', {}),
            ("/v2/models/digits/infer", good[:-1], headers),
            ("/v2/models/digits/infer", good, {**headers, "Inference-Header-Content-Length": str(size + 7)}),
            ("/v2/models/digits/infer", good, {**headers, "Inference-Header-Content-Length": "-1"}),
            ("/v2/models/digits/versions/9/infer", good, headers),
            ("/v2/models/digits/versions/x/infer", good, headers),
            ("/v2/models/none/infer", good, headers),
            ("/v2/nothing", b"", {}),
            ("/v2/repository/models/..%2Fdigits/load", b"{}", {}),
        ])
        connection.request("POST", path, body, sent)
        response = connection.getresponse()
        answer = response.read()
        self.count(f"nonsense {response.status}")
        if not 400 <= response.status < 500 and not (self.stopping.is_set() and response.status == 503):
            self.complain(f"nonsense: {path} {body[:80]!r}: status {response.status}: {answer[:200]!r}")
        else:
            self.check_reason("nonsense", response.status, answer)

    def operator(self, generator, connection) -> None:
        def call(path: str, parameters: dict | None = None) -> None:
            if connection.sock is None and self.stopping.is_set():
                return
            body = json.dumps({"parameters": parameters} if parameters else {}).encode()
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = response.read()
            self.count(f"operator {response.status}")
            if response.status != 200 and not self.stopping.is_set():
                self.complain(f"operator: {path}: status {response.status}: {answer[:200]!r}")

        call("/v2/repository/models/coming/unload")
        call("/v2/repository/models/coming/load")
        call("/v2/repository/models/batched/load",
             {"config": json.dumps({"max_batch_size": generator.choice([4, 16]), "dynamic_batching": {}})})
        call("/v2/repository/index")
        for path in ("/metrics", "/v2/models/stats", "/v2/models/digits/config"):
            connection.request("GET", path)
            response = connection.getresponse()
            response.read()
            if response.status != 200:
                self.complain(f"operator: {path}: status {response.status}")
        time.sleep(0.2 * generator.random())

    def run(self, seconds: float) -> list[float]:
        """Returns the server's memory in megabytes, at equal distances."""
        roles = [("steady", self.steady, 4), ("visitor", self.visitor, 1), ("impatient", self.impatient, 2),
                 ("flood", self.flood, 1), ("leaver", self.leaver, 1), ("nonsense", self.nonsense, 1),
                 ("operator", self.operator, 1)]
        self.threads = [threading.Thread(target=self.client, args=(f"{name} {i}", work))
                        for name, work, many in roles for i in range(many)]
        if triton:
            self.threads += [threading.Thread(target=self.steady_grpc, args=(f"grpc {i}",)) for i in range(2)]
        for thread in self.threads:
            thread.start()
        memory = []
        for _ in range(20):
            if self.over.wait(seconds / 20):
                break
            memory.append(self.server.resident_megabytes())
        return memory

    def stop_under_load(self) -> None:
        self.stopping.set()
        self.server.process.send_signal(signal.SIGTERM)
        status = self.server.process.wait(timeout=60)
        if status != 0:
            self.complain(f"the server ended with {status}")
        self.over.set()
        for thread in self.threads:
            thread.join(timeout=60)
            if thread.is_alive():
                self.complain("a client was never answered")


def check_memory(soak: Soak, memory: list[float], allowed_megabytes: float) -> None:
    if len(memory) < 20:
        return
    early, late = max(memory[8:12]), max(memory[16:])
    if late > early + allowed_megabytes:
        soak.complain(f"memory grew from {early:.0f} MB to {late:.0f} MB after the warm-up")


def check_counts(soak: Soak) -> None:
    """Nobody can have been answered more often than the server says. Of `coming` it may know nothing at the moment."""
    status, answer = soak.server.call("GET", "/v2/models/stats")
    stats = json.loads(answer)["model_stats"]
    answered = sum(row["inference_stats"]["success"]["count"] for row in stats if row["name"] != "coming")
    with soak.lock:
        seen = sum(count for what, count in soak.counts.items() if what.endswith(" 200") and
                   not what.startswith(("operator", "nonsense", "visitor")))
    if status != 200 or answered < seen:
        soak.complain(f"the server counts {answered} answers, its clients {seen}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spoil", action="store_true", help="alter the last bit of answers: they must be noticed")
    parser.add_argument("--allowed-megabytes", type=float, default=64)
    arguments = parser.parse_args()
    program, models = os.environ.get("COLONNADE_CLI"), os.environ.get("COLONNADE_MODELS")
    if not program or not models:
        print("soak: COLONNADE_CLI and COLONNADE_MODELS must be set", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        make_repository(pathlib.Path(folder), pathlib.Path(models))
        server = Server(program, pathlib.Path(folder))
        try:
            server.wait_until_ready()
            soak = Soak(server, arguments.seed, arguments.spoil)
            soak.learn()
            memory = soak.run(arguments.seconds)
            if not soak.over.is_set():
                check_memory(soak, memory, arguments.allowed_megabytes)
                check_counts(soak)
            soak.stop_under_load()
        finally:
            server.process.kill()
    print("memory", " ".join(f"{megabytes:.0f}" for megabytes in memory), "MB")
    for what, count in sorted(soak.counts.items()):
        print(f"{count:8} {what}")
    for problem in soak.problems[:20]:
        print(f"problem: {problem}")
    if soak.problems:
        print("".join(server.log))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
