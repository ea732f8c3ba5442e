# SPDX-License-Identifier: Apache-2.0
"""A custom predictor for KServe's own Python server: kserve_model.py --model_name digits --model model.onnx"""

import argparse
import asyncio

import colonnade
import kserve
from kserve.utils.utils import from_np_dtype


class ColonnadeModel(kserve.Model):
    """Answers v2 requests by a session, which runs one at a time."""

    def __init__(self, name: str, path: str):
        super().__init__(name)
        self.path = path
        self.lock = asyncio.Lock()
        self.load()

    def load(self) -> bool:
        self.session = colonnade.Session(self.path)
        self.ready = True
        return self.ready

    async def predict(self, payload, headers=None, response_headers=None) -> kserve.InferResponse:
        inputs = {tensor.name: tensor.as_numpy() for tensor in payload.inputs}
        async with self.lock:
            outputs = await self.session.run_async(inputs)
        answer = []
        for name, array in outputs.items():
            answer.append(kserve.InferOutput(name, list(array.shape), from_np_dtype(array.dtype)))
            answer[-1].set_data_from_numpy(array, binary_data=False)
        return kserve.InferResponse(payload.id or "", self.name, answer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(parents=[kserve.model_server.parser])
    parser.add_argument("--model", required=True)
    arguments = parser.parse_args()
    kserve.ModelServer().start([ColonnadeModel(arguments.model_name, arguments.model)])
