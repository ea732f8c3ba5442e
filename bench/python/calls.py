# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs: microseconds a run of a model of one element-wise operator, the fastest of many rounds
that take turns, beside ONNX Runtime where it is installed. PYTHONPATH=build/release/python build/venv/bin/python FILE"""
import timeit

import numpy as np
from onnx import TensorProto, helper

import colonnade
import colonnade.onnxruntime

ROUNDS, CALLS = 60, 1000


def model() -> bytes:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "tiny", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def session_of(runtime):
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(model(), options, providers=["CPUExecutionProvider"])


def main() -> None:
    session = colonnade.Session(model(), threads=1)
    value = np.zeros((1, 8), np.float32)
    feeds, out = {"x": value}, {"y": np.empty((1, 8), np.float32)}
    ported = session_of(colonnade.onnxruntime)
    calls = {
        "session(x)": lambda: session(value),
        "session.run(feeds)": lambda: session.run(feeds),
        "session.run(feeds, out=)": lambda: session.run(feeds, out=out),
        "colonnade.onnxruntime run": lambda: ported.run(None, feeds),
    }
    try:
        import onnxruntime

        theirs = session_of(onnxruntime)
        calls["onnxruntime run"] = lambda: theirs.run(None, feeds)
    except ImportError:
        pass
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            best[name] = min(best[name], timeit.timeit(call, number=CALLS) / CALLS * 1e6)
    for name, microseconds in best.items():
        print(f"{name:26} {microseconds:6.2f} us")


if __name__ == "__main__":
    main()
