# SPDX-License-Identifier: Apache-2.0
"""deepsparse, the other engine that runs columns of tensors."""
import deepsparse


class Engine:
    VERSION = deepsparse.__version__

    def __init__(self, variant: str):
        pass

    def load(self, model, threads, inputs):
        self.engine = deepsparse.Engine(model, batch_size=1, num_cores=threads)
        self.inputs = inputs

    def run(self):
        self.results = self.engine.run(self.inputs, val_inp=False)

    def outputs(self):
        return self.results
