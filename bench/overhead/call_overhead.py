#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call of a small model takes above its arithmetic: Colonnade's C++ API, and ONNX Runtime's Python API beside it.

  call_overhead.py PROGRAM   PROGRAM is build/release/colonnade-call-overhead

Needs onnx, onnxruntime and numpy from PyPI. ONNX Runtime runs by one thread, too; `binding` is run_with_iobinding with
inputs and outputs bound beforehand, which does no more than the C API behind it and one Python call.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper


def model_of(nodes, inputs, output, weights):
    value = lambda name, shape: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "small", [value(*each) for each in inputs], [value(*output)],
                              [numpy_helper.from_array(array, name) for name, array in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def add():
    return model_of([helper.make_node("Add", ["x", "y"], ["z"])], [("x", [1]), ("y", [1])], ("z", [1]), {})


def mlp():
    random = np.random.default_rng(1)
    weights, nodes, last = {}, [], "x"
    for i, (rows, columns) in enumerate([(64, 256), (256, 256), (256, 256), (256, 16)]):
        weights[f"w{i}"] = random.standard_normal((rows, columns), dtype=np.float32) * 0.1
        weights[f"b{i}"] = np.zeros(columns, np.float32)
        nodes.append(helper.make_node("Gemm", [last, f"w{i}", f"b{i}"], [f"g{i}"]))
        nodes.append(helper.make_node("Relu", [f"g{i}"], [f"r{i}"]))
        last = f"r{i}"
    return model_of(nodes, [("x", [1, 64])], (last, [1, 16]), weights)


def conv():
    random = np.random.default_rng(1)
    weights, nodes, last = {}, [], "x"
    for i, (channels, filters) in enumerate([(1, 8), (8, 16), (16, 16)]):
        weights[f"w{i}"] = random.standard_normal((filters, channels, 3, 3), dtype=np.float32) * 0.1
        nodes.append(helper.make_node("Conv", [last, f"w{i}"], [f"c{i}"], pads=[1] * 4, strides=[2, 2]))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"]))
        last = f"r{i}"
    return model_of(nodes, [("x", [1, 1, 28, 28])], (last, [1, 16, 4, 4]), weights)


def microseconds(call, rounds=100):
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(100):
            call()
        best = min(best, (time.perf_counter() - begin) * 1e4)
    return best


def onnxruntime_times(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds = {each.name: np.zeros(each.shape, np.float32) for each in session.get_inputs()}
    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    for each in session.get_outputs():
        binding.bind_ortvalue_output(each.name, onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(each.shape, np.float32)))
    return {"run": microseconds(lambda: session.run(None, feeds)),
            "binding": microseconds(lambda: session.run_with_iobinding(binding))}


def main():
    print(f"{'model':8} {'kernels':>9} {'run':>9} {'above':>9} {'new':>9} {'above':>9}   "
          f"ONNX Runtime {onnxruntime.__version__}: {'run':>8} {'binding':>8}   (microseconds)")
    with tempfile.TemporaryDirectory() as folder:
        for make in add, mlp, conv:
            path = str(pathlib.Path(folder) / f"{make.__name__}.onnx")
            onnx.save(make(), path)
            ours = json.loads(subprocess.run([sys.argv[1], path], check=True, capture_output=True).stdout)
            theirs = onnxruntime_times(path)
            print(f"{make.__name__:8} {ours['kernels_us']:9.2f} {ours['run_us']:9.2f} {ours['overhead_us']:9.2f} "
                  f"{ours['new_us']:9.2f} {ours['new_overhead_us']:9.2f}   {'':20} {theirs['run']:8.2f} "
                  f"{theirs['binding']:8.2f}")


if __name__ == "__main__":
    main()
