# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime with its defaults: all optimisations, sequential execution. As "onnxruntime:exact" its sums of bytes do not
saturate where the processor has no VNNI."""
import onnxruntime as ort


class Engine:
    VERSION = ort.__version__

    def __init__(self, variant: str):
        self.exact = variant == "exact"

    def load(self, model, threads, inputs):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        if self.exact:
            options.add_session_config_entry("session.x64quantprecision", "1")
            # with it 1.32 fails on transformers in the optimisations after these
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        # bound once, because feeding arrays from Python costs microseconds that small models would see
        self.binding = self.session.io_binding()
        for info, array in zip(self.session.get_inputs(), inputs):
            self.binding.bind_cpu_input(info.name, array)
        for info in self.session.get_outputs():
            self.binding.bind_output(info.name, "cpu")

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return self.binding.copy_outputs_to_cpu()
