# SPDX-License-Identifier: Apache-2.0
# Runs at the same time, callbacks, and the end of a run that goes.
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

session = ort.InferenceSession(DIGITS)
images = [np.random.default_rng(i).random((1, 1, 28, 28), np.float32) for i in range(8)]
with ThreadPoolExecutor(4) as pool:
    results = list(pool.map(lambda image: session.run(None, {"image": image})[0], images))
report("pool", np.concatenate(results))

done = threading.Event()
seen = []


def callback(results, user_data, error):
    seen.append((results, user_data, error))
    done.set()


session.run_async(["probabilities"], {"image": images[0]}, callback, "mine")
done.wait(30)
report("callback", [seen[0][0][0], seen[0][1], seen[0][2]])

body = helper.make_graph(
    [helper.make_node("Identity", ["c"], ["c_out"]), helper.make_node("Add", ["s", "s"], ["s_out"])],
    "body",
    [helper.make_tensor_value_info(n, t, []) for n, t in (("i", TensorProto.INT64), ("c", TensorProto.BOOL), ("s", TensorProto.FLOAT))],
    [helper.make_tensor_value_info(n, t, []) for n, t in (("c_out", TensorProto.BOOL), ("s_out", TensorProto.FLOAT))],
)
loop = helper.make_model(
    helper.make_graph(
        [helper.make_node("Loop", ["trips", "", "zero"], ["y"], body=body)],
        "loop",
        [helper.make_tensor_value_info("trips", TensorProto.INT64, []), helper.make_tensor_value_info("zero", TensorProto.FLOAT, [])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])],
    ),
    opset_imports=[helper.make_opsetid("", 17)],
    ir_version=8,
)
long = ort.InferenceSession(loop.SerializeToString())
options = ort.RunOptions()
options.log_severity_level = 4


def stop():
    time.sleep(0.2)
    options.terminate = True


threading.Thread(target=stop).start()
try:
    long.run(None, {"trips": np.array(10**9), "zero": np.array(0, np.float32)}, options)
    report("terminated", "no")
except Exception as error:
    report("terminated", type(error).__name__)
report("usable", long.run(None, {"trips": np.array(3), "zero": np.array(1, np.float32)})[0])
