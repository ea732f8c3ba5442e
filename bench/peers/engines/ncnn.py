# SPDX-License-Identifier: Apache-2.0
"""ncnn in fp32, on a model that pnnx converted: MODEL is the .param file, the .bin lies beside it."""
import ncnn
import numpy as np


class Engine:
    VERSION = ncnn.__version__

    def __init__(self, variant: str):
        pass

    def load(self, model, threads, inputs):
        self.net = ncnn.Net()
        options = self.net.opt
        options.num_threads = threads
        for name in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage", "use_bf16_packed",
                     "use_vulkan_compute"):
            if hasattr(options, name):
                setattr(options, name, False)
        if self.net.load_param(model) != 0 or self.net.load_model(model.replace(".param", ".bin")) != 0:
            raise RuntimeError("ncnn cannot load the model")
        # pnnx drops the batch dimension
        self.arrays = [array[0] if array.ndim > 1 else array for array in inputs]
        self.feeds = list(zip(self.numbered(self.net.input_names()), self.arrays))
        self.names = self.numbered(self.net.output_names())

    @staticmethod
    def numbered(names):
        """In the order of the ONNX model: pnnx calls them in0, in1, ... and out0, out1, ..."""
        return sorted(names, key=lambda name: int(name.lstrip("inout")))

    def run(self):
        extractor = self.net.create_extractor()
        for name, array in self.feeds:
            extractor.input(name, ncnn.Mat(array))
        self.results = []
        for name in self.names:
            status, result = extractor.extract(name)
            if status != 0:
                raise RuntimeError(f"ncnn cannot compute {name}")
            self.results.append(result)

    def outputs(self):
        return [np.array(result) for result in self.results]
