# SPDX-License-Identifier: Apache-2.0
"""MNN on its CPU backend with high precision (fp32), on a model that mnnconvert converted.

MNN sorts inputs and outputs by name; the file MODEL.json holds their names in the order of the ONNX model.
"""
import json
import pathlib

import MNN
import numpy as np


class Engine:
    VERSION = MNN.version()

    def __init__(self, variant: str):
        pass

    def load(self, model, threads, inputs):
        self.interpreter = MNN.Interpreter(model)
        self.session = self.interpreter.createSession({"backend": "CPU", "precision": "high", "numThread": threads})
        names = json.loads(pathlib.Path(model + ".json").read_text())
        found = self.interpreter.getSessionInputAll(self.session)
        tensors = [found[name] for name in names["inputs"]]
        for tensor, array in zip(tensors, inputs):
            if tuple(tensor.getShape()) != array.shape:
                self.interpreter.resizeTensor(tensor, array.shape)
        self.interpreter.resizeSession(self.session)
        self.feeds = [(tensor, self.host_tensor(tensor, array)) for tensor, array in zip(tensors, inputs)]
        self.results = []
        found = self.interpreter.getSessionOutputAll(self.session)
        for tensor in (found[name] for name in names["outputs"]):
            host = self.host_tensor(tensor, np.zeros(tensor.getShape(), np.float32))
            self.results.append((tensor, host))

    @staticmethod
    def host_tensor(tensor, array):
        return MNN.Tensor(array.shape, tensor.getDataType(), array, MNN.Tensor_DimensionType_Caffe)

    def run(self):
        for tensor, host in self.feeds:
            tensor.copyFrom(host)
        self.interpreter.runSession(self.session)
        for tensor, host in self.results:
            tensor.copyToHostTensor(host)

    def outputs(self):
        return [np.array(host.getNumpyData()) for _, host in self.results]
