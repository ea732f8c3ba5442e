# SPDX-License-Identifier: Apache-2.0
"""Clients that know nothing of Colonnade, unchanged, against `colonnade serve` as a process.

Usage: clients_test.py COLONNADE FOLDER; makes virtual environments below FOLDER when there are none. Exits with 77 when
the clients cannot be had."""

import fcntl
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
# The kserve client wants another protobuf than the last tritonclient that brings perf_analyzer along.
ENVIRONMENTS = {
    "venv-tritonclient": ["tritonclient[all]==2.41.1", "nvidia-cuda-runtime-cu12", "setuptools<70"],
    "venv-kserve": ["kserve==0.21.0"],
    "venv-otel": ["opentelemetry-proto==1.45.2"],
}
PARTS = [
    ("venv-tritonclient", "descriptors.py"),
    ("venv-tritonclient", "triton_http.py"),
    ("venv-tritonclient", "triton_grpc.py"),
    ("venv-tritonclient", "triton_shared_memory.py"),
    ("venv-tritonclient", "perf_analyzer.py"),
    ("venv-kserve", "kserve_client.py"),
    ("venv-kserve", "kserve_deploy.py"),
    ("venv-otel", "traces.py"),
]


def python_with(folder, name):
    """The interpreter of a virtual environment; None when its packages cannot be installed."""
    place = folder / name
    python, stamp = place / "bin" / "python", place / "installed.txt"
    wanted = " ".join(ENVIRONMENTS[name])
    with open(folder / (name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text() == wanted:
            return python
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"]
        try:
            subprocess.run([sys.executable, "-m", "venv", str(place)], check=True, stdin=subprocess.DEVNULL)
            subprocess.run(pip + ENVIRONMENTS[name], check=True, stdin=subprocess.DEVNULL, timeout=500)
        except (subprocess.SubprocessError, OSError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return None
        stamp.write_text(wanted)
        return python


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, value):
    """A protobuf field: an integer, text, or the bytes of a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def echo_model(element_type, dims):
    """ONNX bytes: x comes back as y. A dimension is a number or a name."""

    def value(name):
        shape = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)
        return field(1, name) + field(2, field(1, field(1, element_type) + field(2, shape)))

    node = field(1, "x") + field(2, "y") + field(4, "Identity")
    graph = field(1, node) + field(2, "echo") + field(11, value("x")) + field(12, value("y"))
    return field(1, 8) + field(8, field(2, 17)) + field(7, graph)


ELEMENT_TYPES = {
    "FP32": 1, "UINT8": 2, "INT8": 3, "UINT16": 4, "INT16": 5, "INT32": 6, "INT64": 7, "BYTES": 8, "BOOL": 9, "FP16": 10,
    "FP64": 11, "UINT32": 12, "UINT64": 13, "BF16": 16,
}


def make_repository(folder):
    def add(name, model, version=1, config=None):
        place = folder / name / str(version)
        place.mkdir(parents=True)
        (place / "model.onnx").write_bytes(model)
        if config:
            (folder / name / "config.pbtxt").write_text(config)

    for name, element_type in ELEMENT_TYPES.items():
        add("echo_" + name, echo_model(element_type, ["rows", 2]))
    add("versions", echo_model(1, [2]), 1, "version_policy { all { } }")
    add("versions", echo_model(1, [2]), 3)
    add("batched", echo_model(1, ["batch", 4]), config="max_batch_size: 8\ndynamic_batching { }\n"
        "output { name: 'y' data_type: TYPE_FP32 dims: 4 label_filename: 'labels.txt' }\n")
    (folder / "batched" / "labels.txt").write_text("zero\none\ntwo\nthree\n")
    add("broken", b"no model")
    add("refused", echo_model(1, [2]), config="sequence_batching { }")


class Server:
    """`colonnade serve` on free ports."""

    def __init__(self, colonnade, repository):
        names = [path.name for path in repository.iterdir() if path.name not in ("broken", "refused", "versions")]
        command = [colonnade, "serve", str(repository), "embedded:digits", "--model-control-mode", "explicit"]
        for name in names + ["digits"]:
            command += ["--load-model", name]
        command += ["--http-port", "0", "--grpc-port", "0", "--metrics-port", "-1"]
        command += ["--http-address", "127.0.0.1", "--grpc-address", "127.0.0.1", "--shared-memory", "/"]
        with socket.create_server(("127.0.0.1", 0)) as free:
            collector = str(free.getsockname()[1])
        command += ["--trace-otlp", "http://127.0.0.1:" + collector, "--trace-rate", "0"]
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        first = self.process.stderr.readline()
        listening = json.loads(first)
        assert listening["event"] == "listening", first
        self.addresses = {"COLONNADE_HTTP": listening["http"], "COLONNADE_GRPC": listening["grpc"],
                          "COLONNADE_COLLECTOR": collector}
        self.drain = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=self.log)
        self.wait_until_ready()

    def wait_until_ready(self):
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://{self.addresses['COLONNADE_HTTP']}/v2/health/ready", timeout=10).close()
                return
            except urllib.error.HTTPError:
                time.sleep(0.1)
        raise RuntimeError("the server is not ready")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        self.drain.wait(10)
        self.log.seek(0)
        return status, self.log.read().decode()


def main(colonnade, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    failed, ran = [], 0
    with tempfile.TemporaryDirectory() as temporary:
        repository = pathlib.Path(temporary)
        make_repository(repository)
        server = Server(colonnade, repository)
        environment = {**os.environ, **server.addresses, "PYTHONPATH": f"{HERE}:{HERE / 'clients'}",
                       "COLONNADE_PYTHON": str(pathlib.Path(colonnade).resolve().parent / "python"),
                       "COLONNADE_PROTO": str(HERE.parent.parent / "frontends" / "server" / "proto")}
        for name, part in PARTS:
            python = python_with(folder, name)
            if python is None:
                continue
            ran += 1
            print(f"== {part}", flush=True)
            command = [str(python), "-B", str(HERE / "clients" / part)]
            if subprocess.run(command, env=environment, stdin=subprocess.DEVNULL).returncode != 0:
                failed.append(part)
        status, log = server.stop()
    if status != 0:
        failed.append(f"the server's exit status {status}")
    if failed:
        print(log[-4000:], "failed: " + ", ".join(failed), sep="\n", file=sys.stderr)
        return 1
    return 0 if ran == len(PARTS) else SKIPPED


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
