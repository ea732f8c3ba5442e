# SPDX-License-Identifier: Apache-2.0
"""OrtValues, DLPack and bindings."""
import numpy as np
from onnx import TensorProto as T

from .asked import NEG, OPEN, ZEROS, bound, load, value

F64 = ZEROS.astype(np.float64)


def empty(m, shape, kind, *device):
    return m.OrtValue.ortvalue_from_shape_and_type(shape, kind, *device)


def named(m, source, target, array=ZEROS):
    def work(session, binding):
        if source is not None:
            binding.bind_cpu_input(source, array)
        if target is not None:
            binding.bind_output(target)
        session.run_with_iobinding(binding)
        return [result.shape for result in binding.copy_outputs_to_cpu()]

    return bound(m, work)


def into(m, array, source=NEG):
    def work(session, binding):
        binding.bind_cpu_input("x", ZEROS)
        binding.bind_ortvalue_output("y", value(m, array))
        session.run_with_iobinding(binding)

    return bound(m, work, source)


def at(m, kind=np.float32, shape=(2, 3), array=ZEROS, device="cpu", name="x"):
    def work(session, binding):
        binding.bind_input(name, device, 0, kind, shape, array.ctypes.data)
        binding.bind_output("y")
        session.run_with_iobinding(binding)
        return binding.copy_outputs_to_cpu()[0].tolist()

    return bound(m, work)


def asked(work):
    return lambda m: bound(m, work)


def output(*arguments, **keywords):
    return asked(lambda session, binding: binding.bind_output(*arguments, **keywords))


def ran_twice(m):
    def work(session, binding):
        for array in (ZEROS, ZEROS + 1):
            binding.bind_cpu_input("x", array)
            binding.bind_output("y")
            session.run_with_iobinding(binding)
        return [result.tolist() for result in binding.copy_outputs_to_cpu()]

    return bound(m, work)


def cleared(m):
    def work(session, binding):
        binding.bind_cpu_input("x", ZEROS)
        binding.bind_output("y")
        binding.clear_binding_inputs()
        session.run_with_iobinding(binding)

    return bound(m, work)


VALUES = {
    "a value of a list": lambda m: value(m, [1, 2]),
    "a value of None": lambda m: value(m, None),
    "a value of a number": lambda m: value(m, 3.0),
    "a value of a number of numpy": lambda m: value(m, np.float32(3)),
    "a value of text": lambda m: value(m, "abc"),
    "a value of texts": lambda m: value(m, np.array(["a", "b"])).data_type(),
    "a value of objects": lambda m: value(m, np.array([1, 2], object)),
    "a value of dates": lambda m: value(m, np.zeros(2, "M8[s]")),
    "a value of columns": lambda m: value(m, np.arange(6, dtype=np.float32).reshape(2, 3).T).numpy().tolist(),
    "a value of big ends": lambda m: value(m, np.arange(2, dtype=">f4")).numpy().tolist(),
    "a value on a device": lambda m: value(m, ZEROS, "cuda", 0),
    "a value on an unknown device": lambda m: value(m, ZEROS, "nope", 0),
    "a value on another processor": lambda m: value(m, ZEROS, "cpu", 3).device_name(),
    "a value below zero": lambda m: empty(m, [-2], np.float32),
    "a value of no elements": lambda m: empty(m, [0], np.float32).shape(),
    "a value without sizes": lambda m: empty(m, [], np.float32).shape(),
    "a value that is too large": lambda m: empty(m, [1 << 62, 1 << 62], np.float32),
    "a value whose sizes are floats": lambda m: empty(m, [1.5], np.float32),
    "a value whose sizes are text": lambda m: empty(m, "ab", np.float32),
    "a value whose sizes are None": lambda m: empty(m, None, np.float32),
    "a complex value": lambda m: empty(m, [2], np.complex64),
    "complex numbers": lambda m: value(m, np.zeros(2, np.complex64)),
    "a value of no type": lambda m: empty(m, [2], 999),
    "a value of type 0": lambda m: empty(m, [2], 0),
    "a value of type None": lambda m: empty(m, [2], None),
    "a value of a type as text": lambda m: empty(m, [2], "float32"),
    "a value of empty texts": lambda m: empty(m, [2], np.str_),
    "a value of a number of a type": lambda m: empty(m, [2], T.INT64).data_type(),
    "a value on a device of sizes": lambda m: empty(m, [2], np.float32, "cuda", 0),
    "other sizes in place": lambda m: value(m).update_inplace(np.zeros(9, np.float32)),
    "another type in place": lambda m: value(m).update_inplace(F64),
    "a list in place": lambda m: value(m).update_inplace([1, 2]),
    "None in place": lambda m: value(m).update_inplace(None),
    "columns in place": lambda m: value(m).update_inplace(np.zeros((3, 2), np.float32).T),
    "bits of another type": lambda m: m.OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(2, np.uint16), T.BFLOAT16).data_type(),
    "bits of another size": lambda m: m.OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(2, np.uint8), T.BFLOAT16).shape(),
    "bits of no type": lambda m: m.OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(2, np.uint16), 999),
    "what is asked of a tensor": lambda m: (lambda v: (v.shape(), v.element_type(), v.is_tensor(), v.is_tensor_sequence(), v.is_sparse_tensor(), v.has_value(), v.tensor_size_in_bytes()))(value(m)),
    "a value as a sparse one": lambda m: value(m).as_sparse_tensor(),
    "a value of a value": lambda m: m.OrtValue(value(m)) and None,
    "a value without arguments": lambda m: m.OrtValue(),
    "an array for a lent one": lambda m: m.OrtValue.from_dlpack(ZEROS.copy()).shape(),
    "a number for a lent one": lambda m: m.OrtValue.from_dlpack(3),
    "None for a lent one": lambda m: m.OrtValue.from_dlpack(None),
    "texts to lend": lambda m: value(m, np.array(["a"])).to_dlpack(),
    "a value twice": lambda m: np.from_dlpack(value(m)).shape,
    "values that miss": lambda m: load(m).run_with_ort_values(["y"], {}),
    "values of another name": lambda m: load(m).run_with_ort_values(["y"], {"q": value(m)}),
    "values of another type": lambda m: load(m).run_with_ort_values(["y"], {"x": value(m, F64)}),
    "values of another size": lambda m: load(m).run_with_ort_values(["y"], {"x": value(m, ZEROS[0])}),
    "values for an unknown output": lambda m: load(m).run_with_ort_values(["q"], {"x": value(m)}),
    "values for all outputs": lambda m: len(load(m).run_with_ort_values(None, {"x": value(m)})),
    "values that are None": lambda m: load(m).run_with_ort_values(["y"], {"x": None}),
    "an array for a value": lambda m: load(m).run_with_ort_values(["y"], {"x": ZEROS}),
    "no values": lambda m: load(m).run_with_ort_values(["y"], None),
    "options for values": lambda m: load(m).run_with_ort_values(["y"], {"x": value(m)}, 3),
}
BINDINGS = {
    "bound to an unknown input": lambda m: named(m, "q", "y"),
    "bound to an input without a name": lambda m: named(m, "", "y"),
    "bound to a number": lambda m: named(m, 3, "y"),
    "bound to a list": lambda m: named(m, "x", "y", [1]),
    "bound to None": lambda m: named(m, "x", "y", None),
    "bound to text": lambda m: named(m, "x", "y", "abc"),
    "bound to a value": lambda m: asked(lambda session, binding: binding.bind_cpu_input("x", value(m)))(m),
    "bound to another type": lambda m: named(m, "x", "y", F64),
    "bound to another size": lambda m: named(m, "x", "y", ZEROS[0]),
    "bound to columns": lambda m: named(m, "x", "y", np.zeros((3, 2), np.float32).T),
    "bound to an unknown output": lambda m: named(m, "x", "q"),
    "bound to an output without a name": lambda m: named(m, "x", ""),
    "bound to an output that is a number": lambda m: named(m, "x", 3),
    "bound to no input": lambda m: named(m, None, "y"),
    "bound to no output": lambda m: named(m, "x", None),
    "bound": lambda m: named(m, "x", "y"),
    "bound again": ran_twice,
    "bound no more": cleared,
    "bound to memory": lambda m: at(m),
    "bound to memory of another type": lambda m: at(m, np.float64, array=F64),
    "bound to memory of another size": lambda m: at(m, shape=(3, 2)),
    "bound to memory of a device": lambda m: at(m, device="cuda"),
    "bound to memory of no type": lambda m: at(m, None),
    "bound to memory of type 999": lambda m: at(m, 999),
    "bound to memory of a number of a type": lambda m: at(m, T.FLOAT),
    "bound to memory of texts": lambda m: at(m, np.str_),
    "bound to memory of an unknown input": lambda m: at(m, name="q"),
    "bound to memory of sizes below zero": lambda m: at(m, shape=(-2, 3)),
    "an array bound as a value": asked(lambda session, binding: binding.bind_ortvalue_input("x", ZEROS)),
    "None bound as a value": asked(lambda session, binding: binding.bind_ortvalue_input("x", None)),
    "an array bound as a value of an output": asked(lambda session, binding: binding.bind_ortvalue_output("y", ZEROS)),
    "an output on a device": output("y", "cuda"),
    "an output on an unknown device": output("y", "nope"),
    "an output at an address without a type": output("y", "cpu", 0, None, (2, 3), ZEROS.ctypes.data),
    "an output at an address without sizes": output("y", "cpu", 0, np.float32, None, ZEROS.ctypes.data),
    "an output at an address of no type": output("y", "cpu", 0, 999, (2, 3), ZEROS.ctypes.data),
    "an output with no room": lambda m: into(m, np.zeros((1, 3), np.float32)),
    "an output with more room": lambda m: into(m, np.zeros((4, 3), np.float32)),
    "an output of another rank": lambda m: into(m, np.zeros(6, np.float32)),
    "an output of another type": lambda m: into(m, F64.copy()),
    "an output of open sizes with no room": lambda m: into(m, np.zeros((1, 3), np.float32), OPEN),
    "another session's binding": lambda m: load(m).run_with_iobinding(load(m).io_binding()),
    "no binding": lambda m: load(m).run_with_iobinding(None),
    "options for a binding": asked(lambda session, binding: session.run_with_iobinding(binding, 3)),
    "outputs before a run": asked(lambda session, binding: len(binding.get_outputs())),
    "copies before a run": asked(lambda session, binding: len(binding.copy_outputs_to_cpu())),
    "a binding of no session": lambda m: m.IOBinding(3),
    "a binding of None": lambda m: m.IOBinding(None),
}
QUESTIONS = VALUES | BINDINGS
