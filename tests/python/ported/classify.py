# SPDX-License-Identifier: Apache-2.0
# A classifier as the tutorials write it.
import numpy as np
import onnxruntime as ort

options = ort.SessionOptions()
options.intra_op_num_threads = 2
options.inter_op_num_threads = 1
options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
options.log_severity_level = 3
options.add_session_config_entry("session.intra_op.allow_spinning", "0")
session = ort.InferenceSession(DIGITS, sess_options=options, providers=["CPUExecutionProvider"])

input_name = session.get_inputs()[0].name
output_name = session.get_outputs()[0].name
report("names", [input_name, output_name])
report("shape", session.get_inputs()[0].shape)

rng = np.random.default_rng(7)
for batch in (1, 3, 2):
    images = rng.random((batch, 1, 28, 28), np.float32)
    (probabilities,) = session.run([output_name], {input_name: images})
    report("shape of answers", probabilities.shape)
    report("answers", probabilities)
    report("sums", probabilities.sum(axis=1))
report("everything", session.run(None, {input_name: images})[0])
report("positional", session.run([], {input_name: images.tolist()})[0])
report("transposed", session.run(None, {input_name: images.transpose(0, 1, 3, 2)})[0])
report("level", [int(level) for level in ort.GraphOptimizationLevel.__members__.values()])
report("level text", str(options.graph_optimization_level))
report("entry", options.get_session_config_entry("session.intra_op.allow_spinning"))
report("threads", session.get_session_options().intra_op_num_threads)
