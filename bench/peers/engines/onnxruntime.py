# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime with its defaults: all optimisations, sequential execution."""
import onnxruntime as ort


class Engine:
    VERSION = ort.__version__

    def __init__(self, variant: str):
        pass

    def load(self, model, threads, inputs):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.feed = {info.name: array for info, array in zip(self.session.get_inputs(), inputs)}

    def run(self):
        self.results = self.session.run(None, self.feed)

    def outputs(self):
        return self.results
