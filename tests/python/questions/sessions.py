# SPDX-License-Identifier: Apache-2.0
"""Sessions, options and what else there is of a process."""
import pathlib
import threading

import numpy as np

from .asked import FOLDER, NEG, OPEN, ZEROS, changed, external, file, load, model, node, options, run, value, weight

CONSTANT = model([node("Add", ("x", "w"))], weights=[weight(float_data=[1, 2])])
OUTSIDE = external(location="inside.bin")
TWO = np.ones(2, np.float32)


def made(m, providers, provider_options=None):
    return m.InferenceSession(NEG, providers=providers, provider_options=provider_options).get_providers()


def terminated(m):
    stop = m.RunOptions()
    stop.terminate = True
    run(m, {"x": ZEROS}, options=stop)


def run_option(m, **values):
    chosen = m.RunOptions()
    for name, given in values.items():
        setattr(chosen, name, given)
    return len(run(m, {"x": ZEROS}, options=chosen))


def replaced(m, array, name="w"):
    return changed(m, lambda o: o.add_initializer(name, value(m, array)), CONSTANT).run(None, {"x": TWO * 0})[0].tolist()


def in_memory(m, names, contents, lengths):
    return changed(m, lambda o: o.add_external_initializers_from_files_in_memory(names, contents, lengths), OUTSIDE) and None


def given(m, names, values):
    return changed(m, lambda o: o.add_external_initializers(names, [value(m, v) for v in values]), OUTSIDE) and None


def later(m, feeds, names=None, callback=None):
    """What a run in the background tells."""
    done, told = threading.Event(), []

    def tell(results, data, message):
        told.extend([len(results), data, bool(message)])
        done.set()

    load(m).run_async(names, feeds, callback or tell, 5)
    done.wait(10)
    return told


def entry(m, key, text):
    return changed(m, lambda o: o.add_session_config_entry(key, text)) and None


PROVIDERS = {
    "a provider that there is not": ["Nope"],
    "a provider twice": ["CPUExecutionProvider"] * 2,
    "no providers": [],
    "a provider as text": "CPUExecutionProvider",
    "a number for providers": 3,
    "a number for a provider": [3],
    "None for a provider": [None],
    "a provider with options": [("CPUExecutionProvider", {"arena": "1"})],
    "a provider with options that are none": [("CPUExecutionProvider", 3)],
    "a provider with three parts": [("CPUExecutionProvider", {}, {})],
    "a tuple of providers": ("CPUExecutionProvider",),
    "a set of providers": {"CPUExecutionProvider"},
    "a dict of providers": {"CPUExecutionProvider": {}},
    "a provider of another case": ["cpuexecutionprovider"],
    "a provider of graphics": ["CUDAExecutionProvider"],
}
OPTIONS = {
    "threads as text": ("intra_op_num_threads", "x"),
    "threads as a float": ("intra_op_num_threads", 1.5),
    "threads as None": ("intra_op_num_threads", None),
    "threads as a Boolean": ("intra_op_num_threads", True),
    "threads of numpy": ("intra_op_num_threads", np.int32(1)),
    "too many threads": ("intra_op_num_threads", 1 << 40),
    "an unknown level": ("graph_optimization_level", 77),
    "a level as text": ("graph_optimization_level", "all"),
    "a mode as a number": ("execution_mode", 0),
    "a Boolean as a number": ("enable_profiling", 1),
    "a Boolean as text": ("enable_mem_pattern", "x"),
    "a Boolean as None": ("enable_mem_reuse", None),
    "a name as a number": ("logid", 3),
    "a name as None": ("logid", None),
    "a name as bytes": ("logid", b"x"),
    "a path as None": ("optimized_model_filepath", None),
    "a path of pathlib": ("optimized_model_filepath", pathlib.Path("x")),
    "a severity as text": ("log_severity_level", "x"),
    "a severity below zero": ("log_severity_level", -5),
    "an unknown option": ("nope", 1),
}
QUESTIONS = {name: lambda m, providers=providers: made(m, providers) for name, providers in PROVIDERS.items()}
QUESTIONS |= {
    f"an option of {name}": lambda m, pair=pair: setattr(m.SessionOptions(), *pair) for name, pair in OPTIONS.items()
}
QUESTIONS |= {
    "options beside providers": lambda m: made(m, ["CPUExecutionProvider"], [{}]),
    "options for fewer providers": lambda m: made(m, ["CPUExecutionProvider"], []),
    "options that are no dicts": lambda m: made(m, ["CPUExecutionProvider"], [3]),
    "options without providers": lambda m: made(m, None, [{}]),
    "options twice": lambda m: made(m, [("CPUExecutionProvider", {})], [{}]),
    "options of a wrong type": lambda m: m.InferenceSession(NEG, 3),
    "options of a run for a session": lambda m: m.InferenceSession(NEG, m.RunOptions()),
    "no arguments": lambda m: m.InferenceSession(),
    "an unknown keyword": lambda m: m.InferenceSession(NEG, nope=1) and None,
    "a path of pathlib to nothing": lambda m: m.InferenceSession(pathlib.Path("/no/such.onnx")),
    "bytes that may change": lambda m: m.InferenceSession(bytearray(NEG)) and None,
    "memory of bytes": lambda m: m.InferenceSession(memoryview(NEG)) and None,
    "a path of bytes": lambda m: m.InferenceSession(b"/no/such.onnx"),
    "threads below zero": lambda m: load(m, options=options(m, intra_op_num_threads=-3)) and None,
    "other threads below zero": lambda m: load(m, options=options(m, inter_op_num_threads=-3)) and None,
    "an option that is read and is not": lambda m: m.SessionOptions().nope,
    "an option that is taken away": lambda m: delattr(m.SessionOptions(), "logid"),
    "an entry without a key": lambda m: m.SessionOptions().add_session_config_entry("", "x"),
    "an entry without a text": lambda m: m.SessionOptions().add_session_config_entry("k", ""),
    "a long key": lambda m: m.SessionOptions().add_session_config_entry("k" * 2000, "x"),
    "a long text": lambda m: m.SessionOptions().add_session_config_entry("k", "x" * 9000),
    "an entry that there is not": lambda m: m.SessionOptions().get_session_config_entry("nothing"),
    "an entry that is no text": lambda m: m.SessionOptions().add_session_config_entry("a", 3),
    "an entry whose key is no text": lambda m: m.SessionOptions().add_session_config_entry(3, "a"),
    "an entry of one": lambda m: m.SessionOptions().add_session_config_entry("a"),
    "an entry twice": lambda m: changed(m, lambda o: [o.add_session_config_entry("a", t) for t in "xy"]).get_session_options().get_session_config_entry("a"),
    "an unknown entry": lambda m: entry(m, "no.such.entry", "1"),
    "no folder to write to": lambda m: load(m, options=options(m, optimized_model_filepath="/no/such/x.onnx")),
    "a folder to write to": lambda m: load(m, options=options(m, optimized_model_filepath=FOLDER)),
    "no library": lambda m: m.SessionOptions().register_custom_ops_library("/no/such.so"),
    "a library that is none": lambda m: m.SessionOptions().register_custom_ops_library(file("none.so", b"x" * 99)),
    "a library without operators": lambda m: m.SessionOptions().register_custom_ops_library("libm.so.6"),
    "an empty library": lambda m: m.SessionOptions().register_custom_ops_library(""),
    "a number for a library": lambda m: m.SessionOptions().register_custom_ops_library(3),
    "None for a library": lambda m: m.SessionOptions().register_custom_ops_library(None),
    "an unknown initializer": lambda m: replaced(m, TWO, "nope"),
    "an initializer without a name": lambda m: replaced(m, TWO, ""),
    "an initializer": lambda m: replaced(m, TWO),
    "an initializer of another size": lambda m: replaced(m, ZEROS[0]),
    "an initializer of another type": lambda m: replaced(m, TWO.astype(np.float64)),
    "an initializer that is an array": lambda m: m.SessionOptions().add_initializer("w", TWO),
    "an initializer that is None": lambda m: m.SessionOptions().add_initializer("w", None),
    "an initializer whose name is a number": lambda m: m.SessionOptions().add_initializer(3, value(m, TWO)),
    "an initializer twice": lambda m: changed(m, lambda o: [o.add_initializer("w", value(m, TWO)) for _ in range(2)], CONSTANT) and None,
    "an input for an initializer": lambda m: replaced(m, TWO, "x"),
    "external initializers": lambda m: given(m, ["w"], [TWO]),
    "external initializers of another size": lambda m: given(m, ["w"], [ZEROS[0]]),
    "external initializers of another type": lambda m: given(m, ["w"], [TWO.astype(np.int64)]),
    "external initializers of another name": lambda m: given(m, ["q"], [TWO]),
    "more names than external initializers": lambda m: given(m, ["w", "q"], [TWO]),
    "no external initializers": lambda m: given(m, [], []),
    "external initializers twice": lambda m: given(m, ["w", "w"], [TWO, TWO]),
    "external initializers that are none": lambda m: m.SessionOptions().add_external_initializers(["w"], [TWO]),
    "files in memory": lambda m: in_memory(m, ["inside.bin"], [TWO.tobytes()], [8]),
    "files in memory of another name": lambda m: in_memory(m, ["other.bin"], [TWO.tobytes()], [8]),
    "files in memory that are too short": lambda m: in_memory(m, ["inside.bin"], [b"1234"], [4]),
    "fewer files in memory than names": lambda m: in_memory(m, ["inside.bin"], [], []),
    "a dimension below zero": lambda m: changed(m, lambda o: o.add_free_dimension_override_by_name("n", -2), OPEN) and None,
    "a dimension of zero": lambda m: changed(m, lambda o: o.add_free_dimension_override_by_name("n", 0), OPEN) and None,
    "a dimension as text": lambda m: m.SessionOptions().add_free_dimension_override_by_name("n", "x"),
    "a dimension as a float": lambda m: m.SessionOptions().add_free_dimension_override_by_name("n", 1.5),
    "a dimension as None": lambda m: m.SessionOptions().add_free_dimension_override_by_name("n", None),
    "a dimension whose name is a number": lambda m: m.SessionOptions().add_free_dimension_override_by_name(3, 3),
    "a dimension that there is not": lambda m: changed(m, lambda o: o.add_free_dimension_override_by_name("q", 3), OPEN).get_inputs()[0].shape,
    "a dimension that is set": lambda m: changed(m, lambda o: o.add_free_dimension_override_by_name("n", 3), OPEN).get_inputs()[0].shape,
    "another size than the one that is set": lambda m: changed(m, lambda o: o.add_free_dimension_override_by_name("n", 5), OPEN).run(None, {"x": ZEROS}),
    "an unknown severity": lambda m: m.set_default_logger_severity(9),
    "a severity below zero": lambda m: m.set_default_logger_severity(-1),
    "severity as text": lambda m: m.set_default_logger_severity("x"),
    "severity as a float": lambda m: m.set_default_logger_severity(1.5),
    "verbosity as text": lambda m: m.set_default_logger_verbosity("x"),
    "a seed as text": lambda m: m.set_seed("x"),
    "options of a run of a wrong type": lambda m: run(m, {"x": ZEROS}, options=3),
    "options of a session for a run": lambda m: run(m, {"x": ZEROS}, options=m.SessionOptions()),
    "a run that is terminated": terminated,
    "a run that is not terminated any more": lambda m: run_option(m, terminate=False),
    "an unknown option of a run": lambda m: setattr(m.RunOptions(), "nope", 1),
    "an option of a run of a wrong type": lambda m: setattr(m.RunOptions(), "logid", 1),
    "a Boolean of a run as a number": lambda m: setattr(m.RunOptions(), "terminate", 1),
    "a severity of a run": lambda m: run_option(m, log_severity_level=77),
    "an entry that a run has not": lambda m: m.RunOptions().get_run_config_entry("nope"),
    "an entry of a run without a key": lambda m: m.RunOptions().add_run_config_entry("", "x"),
    "an entry of a run that is no text": lambda m: m.RunOptions().add_run_config_entry("k", 3),
    "an adapter that is none": lambda m: m.RunOptions().add_active_adapter(3),
    "a run in the background": lambda m: later(m, {"x": ZEROS}),
    "a run in the background without feeds": lambda m: later(m, {}),
    "a run in the background of a wrong size": lambda m: later(m, {"x": np.zeros((2, 4), np.float32)}),
    "a run in the background of another type": lambda m: later(m, {"x": ZEROS.astype(np.float64)}),
    "a run in the background of None": lambda m: later(m, None),
    "a run in the background for an unknown output": lambda m: later(m, {"x": ZEROS}, ["q"]),
    "a run in the background that tells a number": lambda m: load(m).run_async(None, {"x": ZEROS}, 3, None),
    "no profile": lambda m: load(m).end_profiling(),
    "another provider": lambda m: load(m).set_providers(["Nope"]),
    "the same provider": lambda m: load(m).set_providers(["CPUExecutionProvider"]),
    "providers as a number": lambda m: load(m).set_providers(3),
    "an attribute of a session": lambda m: load(m).nope,
    "an attribute of an input that is set": lambda m: setattr(load(m).get_inputs()[0], "name", "q"),
    "an attribute of an input": lambda m: load(m).get_inputs()[0].nope,
    "the names of devices": lambda m: m.get_device(),
    "metadata": lambda m: (lambda d: (d.producer_name, d.domain, d.version, d.custom_metadata_map))(load(m).get_modelmeta()),
}
