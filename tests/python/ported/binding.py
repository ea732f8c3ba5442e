# SPDX-License-Identifier: Apache-2.0
# Inputs and outputs that stay where they are.
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession(DIGITS, providers=["CPUExecutionProvider"])
rng = np.random.default_rng(3)
images = rng.random((2, 1, 28, 28), np.float32)
expected = session.run(None, {"image": images})[0]

binding = session.io_binding()
binding.bind_cpu_input("image", images)
binding.bind_output("probabilities")
session.run_with_iobinding(binding)
report("outputs", binding.copy_outputs_to_cpu()[0])
report("shape", binding.get_outputs()[0].shape())
report("same", np.array_equal(binding.get_outputs()[0].numpy(), expected))

memory = np.empty((2, 10), np.float32)
binding = session.io_binding()
value = onnxruntime.OrtValue.ortvalue_from_numpy(images)
binding.bind_input("image", value.device_name(), 0, np.float32, value.shape(), value.data_ptr())
binding.bind_output("probabilities", "cpu", 0, np.float32, memory.shape, memory.ctypes.data)
session.run_with_iobinding(binding)
report("into memory", memory)

images *= 0.5
session.run_with_iobinding(binding)
report("again, other input", memory)

output = onnxruntime.OrtValue.ortvalue_from_shape_and_type([2, 10], np.float32, "cpu", 0)
binding = session.io_binding()
binding.bind_ortvalue_input("image", value)
binding.bind_ortvalue_output("probabilities", output)
session.run_with_iobinding(binding, onnxruntime.RunOptions())
report("into a value", output.numpy())
binding.clear_binding_inputs()
binding.clear_binding_outputs()

report("value", [value.shape(), value.data_type(), value.element_type(), value.device_name(), value.is_tensor()])
report("more of it", [value.has_value(), value.is_sparse_tensor(), value.is_tensor_sequence()])
report("pointer", value.data_ptr() == images.ctypes.data)
results = session.run_with_ort_values(["probabilities"], {"image": value})
report("values", [type(results).__name__, results[0].numpy()])
value.update_inplace(np.zeros_like(images))
report("updated", session.run_with_ort_values(None, {"image": value})[0].numpy())


def attempt(label, call):
    try:
        call()
        report(label, "fine")
    except Exception as error:
        report(label, type(error).__name__)


attempt("no such input", lambda: session.io_binding().bind_cpu_input("nothing", images))
attempt("no such output", lambda: session.io_binding().bind_output("nothing"))
attempt("nothing bound", lambda: session.run_with_iobinding(session.io_binding()))
other = onnxruntime.InferenceSession(DIGITS)
attempt("of another session", lambda: other.run_with_iobinding(binding))
