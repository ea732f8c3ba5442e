# SPDX-License-Identifier: Apache-2.0
"""What people write around ONNX Runtime: FastAPI, JSON in and out, one thread a run. Run by uvicorn."""
import os

import numpy
import onnxruntime
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
