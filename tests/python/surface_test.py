# SPDX-License-Identifier: Apache-2.0
"""Every public name of ONNX Runtime's modules and classes is here, is refused by name, or stands in a table with its
reason. And how what is refused says so."""
from __future__ import annotations

import enum
import importlib
import importlib.util
import types
import unittest

import support

support.need("colonnade", "numpy", "onnx")

import numpy as np  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import colonnade.onnxruntime as ours  # noqa: E402
from colonnade.onnxruntime import _refused  # noqa: E402
from colonnade.onnxruntime.capi import onnxruntime_pybind11_state as state  # noqa: E402

MODULES = (
    "",
    ".capi",
    ".capi._pybind_state",
    ".capi.build_and_package_info",
    ".capi.onnxruntime_inference_collection",
    ".capi.onnxruntime_pybind11_state",
    ".capi.onnxruntime_validation",
)
GPU = "of devices that are no CPU"
# Names of the real package that are not here, by module or class, with the reason.
LEFT_OUT = {
    "": {"import_capi_exception": "a variable of that file"},
    ".capi.onnxruntime_inference_collection": {
        "Any": "an import of that file",
        "Callable": "an import of that file",
        "IntEnum": "an import of that file",
        "Sequence": "an import of that file",
        "GetInitializerLocationFunc": "a type of ModelCompiler, which is refused",
        "GetInitializerLocationWrapperFunc": "a type of ModelCompiler, which is refused",
        "get_ort_device_type": GPU,
        "get_vendor_id_for_device_type": GPU,
        "make_get_initializer_location_func_wrapper": "a part of ModelCompiler, which is refused",
    },
    "OrtDevice": {name: GPU for name in ("cann", "cuda", "dml", "fpga", "gpu", "npu", "webgpu")},
    "InferenceSession": {"is_webgpu_graph_capture_enabled": GPU, "webgpu_context_id": GPU},
}


def real(name: str):
    return importlib.import_module("onnxruntime" + name)


def names_of(thing) -> set[str]:
    """Of a module, or of a class and what is made of it."""
    names = set(dir(thing))
    if isinstance(thing, enum.EnumMeta):
        names |= set(dir(next(iter(thing))))
    elif isinstance(thing, type):
        session = ours.InferenceSession(str(support.MODELS / "digits.onnx"))
        examples = {ours.NodeArg: session.get_inputs()[0], ours.ModelMetadata: session.get_modelmeta()}
        try:
            names |= set(dir(examples.get(thing) or thing()))
        except TypeError:
            pass  # nothing is made of it alone; its class has all
    return names


class Surface(unittest.TestCase):
    def setUp(self):
        try:
            import onnxruntime  # noqa: F401
        except ImportError as error:
            self.skipTest(str(error))
        if onnxruntime.__version__ != ours.__version__:
            self.skipTest(f"the interface is that of {ours.__version__}, {onnxruntime.__version__} is installed")

    def compare(self, label, theirs, mine):
        left_out, there = LEFT_OUT.get(label, {}), names_of(mine)
        names = [name for name in dir(theirs) if not name.startswith("_") and name not in there]
        if isinstance(theirs, types.ModuleType):
            imports = (types.ModuleType, type(annotations))
            names = [name for name in names if not isinstance(getattr(theirs, name), imports)]
        self.assertEqual(names, sorted(set(left_out) & set(dir(theirs))), f"{label or 'onnxruntime'}: neither there nor in LEFT_OUT")

    def test_modules(self):
        for name in MODULES:
            with self.subTest(name or "onnxruntime"):
                self.compare(name, real(name), importlib.import_module("colonnade.onnxruntime" + name))

    def test_classes(self):
        count = 0
        for module in MODULES:
            theirs, mine = real(module), importlib.import_module("colonnade.onnxruntime" + module)
            for name in dir(theirs):
                kind = getattr(theirs, name)
                if name.startswith("_") or not isinstance(kind, type) or not kind.__module__.startswith("onnxruntime"):
                    continue
                if name in _refused.CLASSES or not hasattr(mine, name):
                    continue
                count += 1
                with self.subTest(f"{module}.{name}"):
                    self.compare(name, kind, getattr(mine, name))
        self.assertGreater(count, 60)

    def test_nothing_left_out_is_there(self):
        for label, names in LEFT_OUT.items():
            modules = [importlib.import_module("colonnade.onnxruntime" + label)] if label in MODULES else [ours, state]
            for name in names:
                for module in modules:
                    thing = module if label in MODULES else getattr(module, label)
                    self.assertNotIn(name, names_of(thing), f"{label}.{name} is there and in LEFT_OUT")

    def test_numbers_of_enumerations(self):
        theirs = real(".capi.onnxruntime_pybind11_state")
        compared = 0
        for name in dir(theirs):
            members = getattr(getattr(theirs, name), "__members__", None)
            if members is None or not isinstance(getattr(theirs, name), type):
                continue
            mine = getattr(state, name)
            compared += 1
            for member, value in members.items():
                number = int(mine[member])
                self.assertEqual(number & 0xFFFFFFFF, int(value) & 0xFFFFFFFF, f"{name}.{member}")
        self.assertGreater(compared, 10)

    def test_settings(self):
        for name in ("SessionOptions", "RunOptions"):
            theirs, mine = getattr(real(""), name)(), getattr(ours, name)()
            for attribute in dir(theirs):
                value = getattr(theirs, attribute)
                if attribute.startswith("_") or callable(value):
                    continue
                found = getattr(mine, attribute)
                if isinstance(value, (bool, int, str)):
                    self.assertEqual(found, value, attribute)
                else:
                    self.assertEqual(int(found), int(value), attribute)

    def test_exceptions(self):
        theirs = real(".capi.onnxruntime_pybind11_state")
        for name in dir(theirs):
            kind = getattr(theirs, name)
            if isinstance(kind, type) and issubclass(kind, Exception):
                self.assertTrue(issubclass(getattr(state, name), Exception), name)


def model(weights):
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "graph", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


class Refused(unittest.TestCase):
    def refuses(self, call, *words):
        with self.assertRaises(state.NotImplemented) as raised:
            call()
        for word in words:
            self.assertIn(word, str(raised.exception))

    def test_classes(self):
        for name, reason in _refused.CLASSES.items():
            self.refuses(getattr(ours, name), name, reason)

    def test_functions(self):
        for name, reason in _refused.FUNCTIONS.items():
            self.refuses(getattr(state, name), name, reason)

    def test_functions_of_classes(self):
        self.refuses(lambda: ours.SparseTensor.sparse_coo_from_numpy(1, 2, 3), "SparseTensor.sparse_coo_from_numpy")
        self.refuses(lambda: ours.OrtValue.ort_value_from_sparse_tensor(1), "sparse")
        self.refuses(lambda: ours.AdapterFormat.read_adapter("x"), "LoRA")
        with self.assertRaisesRegex(TypeError, "LoraAdapter"):
            ours.RunOptions().add_active_adapter(1)
        with self.assertRaisesRegex(Exception, "surface_test"):
            ours.SessionOptions().register_custom_ops_library(__file__)

    def test_cancelled(self):
        options = ours.SessionOptions()
        options.set_load_cancellation_flag(True)
        with self.assertRaises(state.ModelLoadCanceled):
            ours.InferenceSession(str(support.MODELS / "digits.onnx"), options)


class Initializers(unittest.TestCase):
    """What ONNX Runtime leaves unchecked."""

    def setUp(self):
        self.weights = [numpy_helper.from_array(np.array([1, 2], np.float32), "w")]

    def fails(self, options, *words, source=None):
        with self.assertRaises((state.InvalidArgument, state.Fail)) as raised:
            ours.InferenceSession(source or model(self.weights), options)
        for word in words:
            self.assertIn(word, str(raised.exception))

    def test_of_another_type_or_shape(self):
        for array in (np.zeros(3, np.float32), np.zeros(2, np.int64)):
            options = ours.SessionOptions()
            options.add_initializer("w", ours.OrtValue.ortvalue_from_numpy(array))
            self.fails(options, "'w'", "float32 [2]", array.dtype.name)

    def test_external_that_are_not(self):
        for name in ("w", "nothing"):
            options = ours.SessionOptions()
            options.add_external_initializers([name], [ours.OrtValue.ortvalue_from_numpy(np.zeros(2, np.float32))])
            self.fails(options, name)

    def external(self, **entries):
        tensor = TensorProto(name="w", data_type=1, dims=[2], data_location=TensorProto.EXTERNAL)
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=value)
        return model([tensor])

    def test_files_in_memory(self):
        for entries, data, words in (
            ({"location": "a", "offset": "4", "length": "8"}, b"0123", ["8 bytes", "found 0"]),
            ({"location": "../a"}, b"", ["../a", "outside"]),
            ({"location": "/etc/passwd"}, b"", ["outside"]),
            ({"location": "b"}, b"", ["b"]),
        ):
            options = ours.SessionOptions()
            options.add_external_initializers_from_files_in_memory(["a"], [data], [len(data)])
            self.fails(options, *words, source=self.external(**entries))


if __name__ == "__main__":
    support.main()
