# SPDX-License-Identifier: Apache-2.0
# Providers in all forms, what the environment says, values by DLPack, profiles.
import json
import os
import tempfile
import warnings

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import _pybind_state as state

CPU = "CPUExecutionProvider"


def attempt(label, call):
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        try:
            report(label, call())
        except Exception as error:
            report(label, type(error).__name__)


def made(**arguments):
    return lambda: ort.InferenceSession(DIGITS, **arguments).get_providers()


attempt("none", made())
attempt("empty", made(providers=[]))
attempt("one", made(providers=[CPU]))
attempt("tuple", made(providers=(CPU,)))
attempt("pair", made(providers=[(CPU, {"arena_extend_strategy": "kSameAsRequested"})]))
attempt("options beside", made(providers=[CPU], provider_options=[{}]))
attempt("two lengths", made(providers=[CPU], provider_options=[{}, {}]))
attempt("pairs and options", made(providers=[(CPU, {})], provider_options=[{}]))
attempt("options of text", made(providers=[CPU], provider_options=["a"]))
attempt("options a dict", made(providers=[CPU], provider_options={}))
attempt("a set", made(providers={CPU}))
attempt("a number", made(providers=[1]))
attempt("a triple", made(providers=[(CPU, {}, {})]))
attempt("twice", made(providers=[CPU, CPU]))
attempt("unknown", made(providers=["NoSuchExecutionProvider", CPU]))
attempt("only unknown", made(providers=[("NoSuchExecutionProvider", {"a": 1})]))
session = ort.InferenceSession(DIGITS)
attempt("set", lambda: session.set_providers([CPU]))
attempt("set beside", lambda: session.set_providers([CPU], [{"a": "b"}]))
attempt("set wrong", lambda: session.set_providers([CPU], [{}, {}]))
report("fallback", [session.disable_fallback(), session.enable_fallback()])

report("device", ort.get_device())
report("available", CPU in ort.get_available_providers() and CPU in ort.get_all_providers())
report("the last", ort.get_all_providers()[-1])
report("versions", [ort.get_version_string() == ort.__version__, ort.version == ort.__version__, ort.package_name])
report("collective", ort.has_collective_ops())
report("calls", [ort.enable_telemetry_events(), ort.disable_telemetry_events(), ort.set_seed(3), ort.set_default_logger_severity(3)])
ort.set_default_logger_verbosity(0)
for severity in (-1, 5):
    attempt(f"severity {severity}", lambda: ort.set_default_logger_severity(severity))
attempt("callback", lambda: ort.set_default_logger_callback(lambda *arguments: None, 3))
attempt("no callback", lambda: ort.set_default_logger_callback(None))
report("ep devices", [(d.ep_name, d.device.type.name) for d in ort.get_ep_devices() if d.ep_name == CPU])
report("allocator", ort.create_and_register_allocator(ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT), ort.OrtArenaCfg({"max_mem": 0})))

array = np.arange(6, dtype=np.float32).reshape(2, 3)
value = ort.OrtValue.ortvalue_from_numpy(array)
report("to dlpack", np.from_dlpack(value))
report("dlpack device", list(value.__dlpack_device__())[:1])
back = ort.OrtValue.from_dlpack(array)
report("from dlpack", [back.shape(), back.data_type(), back.numpy()])
report("shared", back.data_ptr() == array.ctypes.data)
value_of_state = state.OrtValue.from_dlpack(array.__dlpack__())
report("state's value", value_of_state.numpy())
report("array", np.asarray(value))
report("bytes", value.tensor_size_in_bytes())
report("numbers of types", [ort.OrtValue.ortvalue_from_shape_and_type([1], t).data_type() for t in (1, 7, np.uint8, np.float16, np.bool_)])
attempt("no such device", lambda: ort.OrtValue.ortvalue_from_shape_and_type([1], np.float32, "cuda", 0) and "made")
attempt("update", lambda: value.update_inplace("text"))
attempt("update of another shape", lambda: value.update_inplace(np.zeros(3, np.float32)))
images = np.random.default_rng(1).random((1, 1, 28, 28), np.float32)
session = ort.InferenceSession(DIGITS)
report("a value is fed", session.run(None, {"image": ort.OrtValue.ortvalue_from_numpy(images)})[0])
vector = session._sess
report("the session's state", [vector.inputs_meta[0].name, vector.outputs_meta[0].name, vector.model_meta.graph_name])
binding = session.io_binding()
binding.bind_cpu_input("image", images)
binding.bind_output("probabilities")
session.run_with_iobinding(binding)
report("vector", [len(binding.get_outputs_as_ortvaluevector()), binding.get_outputs_as_ortvaluevector()[0].numpy()])

with tempfile.TemporaryDirectory() as folder:
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = os.path.join(folder, "times")
    profiled = ort.InferenceSession(DIGITS, options)
    report("start", profiled.get_profiling_start_time_ns() > 0)
    for count in (1, 2, 1):
        profiled.run(None, {"image": np.repeat(images, count, 0)})
    name = profiled.end_profiling()
    report("name", [os.path.dirname(name) == folder, os.path.basename(name)[:6], name[-5:]])
    events = json.load(open(name))
    report("form", sorted({key for event in events for key in event}))
    report("kinds", sorted({event["cat"] for event in events}))
    report("runs", sum(event["name"] == "model_run" for event in events))
    nodes = [event for event in events if event["cat"] == "Node"]
    report("node", all(e["ph"] == "X" and e["args"]["provider"] == CPU and "op_name" in e["args"] and "node_index" in e["args"] for e in nodes))
    report("names", all(event["name"].endswith("_kernel_time") for event in nodes))
    runs = [event for event in events if event["name"] == "model_run"]
    last = max(event["ts"] + event["dur"] for event in runs)
    report("within", all(runs[0]["ts"] - 1 <= e["ts"] and e["ts"] + e["dur"] <= last + 1 for e in nodes))
    report("operators", {"Conv", "Softmax"} <= {event["args"]["op_name"] for event in nodes})
report("not profiled", session.end_profiling() == "")
