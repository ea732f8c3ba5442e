# SPDX-License-Identifier: Apache-2.0
"""OpenVINO for latency, in fp32 (variant f32) or in the precision it prefers (no variant)."""
import openvino as ov


class Engine:
    VERSION = ov.__version__.split("-")[0]

    def __init__(self, variant: str):
        self.precision = variant

    def load(self, model, threads, inputs):
        config = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": "1"}
        if self.precision:
            config["INFERENCE_PRECISION_HINT"] = self.precision
        core = ov.Core()
        graph = core.read_model(model)
        if any(port.partial_shape.is_dynamic for port in graph.inputs):
            graph.reshape({port: list(array.shape) for port, array in zip(graph.inputs, inputs)})
        compiled = core.compile_model(graph, "CPU", config)
        self.request = compiled.create_infer_request()
        for index, array in enumerate(inputs):
            self.request.set_input_tensor(index, ov.Tensor(array, shared_memory=True))
        self.count = len(compiled.outputs)

    def run(self):
        self.request.infer()

    def outputs(self):
        return [self.request.get_output_tensor(index).data for index in range(self.count)]
