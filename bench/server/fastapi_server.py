# SPDX-License-Identifier: Apache-2.0
"""What people write around ONNX Runtime: FastAPI, JSON in and out, one thread a run: fastapi_server.py PORT.

One process: several share the port. (Workers of uvicorn do not know that their sockets are TCP's and leave Nagle's
algorithm on, which with the client's delayed acknowledgements makes every answer take 40 ms.)
"""
import os
import socket
import sys

import numpy
import onnxruntime
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(os.environ["MODEL"], options, providers=["CPUExecutionProvider"])
app = FastAPI()


class Tensor(BaseModel):
    name: str
    shape: list[int]
    data: list[float]


class Request(BaseModel):
    inputs: list[Tensor]


@app.post("/infer")
def infer(request: Request):
    feeds = {t.name: numpy.asarray(t.data, dtype=numpy.float32).reshape(t.shape) for t in request.inputs}
    names = [output.name for output in session.get_outputs()]
    values = session.run(names, feeds)
    return {"outputs": [{"name": name, "shape": list(value.shape), "data": value.ravel().tolist()}
                        for name, value in zip(names, values)]}


if __name__ == "__main__":
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind(("127.0.0.1", int(sys.argv[1])))
    uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False)).run(sockets=[listener])
