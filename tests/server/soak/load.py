# SPDX-License-Identifier: Apache-2.0
"""The models that the soak asks for answers, and its requests."""
from __future__ import annotations

import json
import pathlib
import random
import shutil
import struct

IMAGE = {"digits": [1, 28, 28], "mobilenet": [3, 224, 224], "unet": [3, 256, 256]}
# name -> embedded model and what its config.pbtxt says
MODELS = {
    "digits": ("digits", ""),
    "batched": ("digits", "max_batch_size: 16 dynamic_batching { preferred_batch_size: [ 4, 16 ] "
                          "max_queue_delay_microseconds: 500 }"),
    "ordered": ("digits", "max_batch_size: 8 dynamic_batching { preserve_ordering: true }"),
    "urgent": ("digits", "max_batch_size: 8 dynamic_batching { priority_levels: 3 default_priority_level: 2 }"),
    "narrow": ("digits", "max_batch_size: 4 instance_group { count: 1 kind: KIND_CPU } dynamic_batching { "
                         "default_queue_policy { max_queue_size: 4 allow_timeout_override: true } }"),
    "coming": ("digits", ""),
    "mobilenet": ("mobilenet", ""),
    "unet": ("unet", "instance_group { count: 2 kind: KIND_CPU }"),
}


def make_repository(folder: pathlib.Path, models: pathlib.Path) -> None:
    for name, (source, config) in MODELS.items():
        version = folder / name / "1"
        version.mkdir(parents=True)
        shutil.copy(models / f"{source}.onnx", version / "model.onnx")
        (folder / name / "config.pbtxt").write_text(config)


def tensor(source: str, seed: int) -> bytes:
    generator = random.Random(seed)
    count = 1
    for dim in IMAGE[source]:
        count *= dim
    return struct.pack(f"<{count}f", *(generator.random() for _ in range(count)))


def infer_request(name: str, data: bytes, parameters: dict | None = None, samples: int = 1) -> tuple[bytes, dict[str, str]]:
    head = json.dumps({"inputs": [{"name": "image", "shape": [samples, *IMAGE[MODELS[name][0]]], "datatype": "FP32",
                                   "parameters": {"binary_data_size": len(data)}}],
                       "parameters": {"binary_data_output": True, **(parameters or {})}}).encode()
    return head + data, {"Inference-Header-Content-Length": str(len(head)), "Content-Type": "application/octet-stream"}


def whole_request(path: str, body: bytes, headers: dict[str, str]) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    lines += [f"{key}: {value}" for key, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
