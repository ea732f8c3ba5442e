# SPDX-License-Identifier: Apache-2.0
"""Arrays in and out: types, layouts, who owns what."""
import array
import gc
import unittest
import weakref

import support

support.need("colonnade", "numpy", "onnx")

import numpy as np
from onnx import TensorProto as T
from onnx import helper

import colonnade

NATIVE = {
    T.FLOAT: np.float32,
    T.DOUBLE: np.float64,
    T.FLOAT16: np.float16,
    T.INT8: np.int8,
    T.INT16: np.int16,
    T.INT32: np.int32,
    T.INT64: np.int64,
    T.UINT8: np.uint8,
    T.UINT16: np.uint16,
    T.UINT32: np.uint32,
    T.UINT64: np.uint64,
    T.BOOL: np.bool_,
    T.COMPLEX64: np.complex64,
    T.COMPLEX128: np.complex128,
}
# ONNX's type: numpy's name in ml_dtypes, bits, opset
NARROW = {
    T.BFLOAT16: ("bfloat16", np.uint16, 19),
    T.FLOAT8E4M3FN: ("float8_e4m3fn", np.uint8, 19),
    T.FLOAT8E4M3FNUZ: ("float8_e4m3fnuz", np.uint8, 19),
    T.FLOAT8E5M2: ("float8_e5m2", np.uint8, 19),
    T.FLOAT8E5M2FNUZ: ("float8_e5m2fnuz", np.uint8, 19),
    T.INT4: ("int4", np.int8, 21),
    T.UINT4: ("uint4", np.uint8, 21),
    T.FLOAT4E2M1: ("float4_e2m1fn", np.uint8, 23),
}


def run_identity(onnx_type, value, opset=19):
    return colonnade.Session(support.identity(onnx_type, value.shape, opset)).run({"x": value})["y"]


def as_bits(value, bits):
    return value.astype(bits) if bits == np.int8 else value.view(bits)


class Foreign:
    """Memory that DLPack alone gives."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Types(unittest.TestCase):
    def test_types_of_numpy(self):
        for onnx_type, dtype in NATIVE.items():
            for shape in ((2, 3), (), (0, 3)):
                value = (np.arange(np.prod(shape, dtype=int)) % 3).reshape(shape).astype(dtype)
                result = run_identity(onnx_type, value)
                self.assertEqual(result.dtype, value.dtype)
                self.assertEqual(result.shape, shape)
                np.testing.assert_array_equal(result, value)

    def test_narrow_types(self):
        support.need("ml_dtypes")
        import ml_dtypes

        for onnx_type, (name, bits, opset) in NARROW.items():
            dtype = np.dtype(getattr(ml_dtypes, name))
            value = np.array([[0, 1, 2], [3, 1, 4]]).astype(dtype)
            if name == "int4":
                value[0, 0] = -8
            result = run_identity(onnx_type, value, opset)
            self.assertEqual(result.dtype, dtype, name)
            np.testing.assert_array_equal(as_bits(result, bits), as_bits(value, bits), name)
            # Bit patterns do as well, in and out; of int4 its values.
            result = run_identity(onnx_type, as_bits(value, bits), opset)
            np.testing.assert_array_equal(as_bits(result, bits), as_bits(value, bits), name)
            session = colonnade.Session(support.identity(onnx_type, value.shape, opset))
            for memory in (np.zeros(value.shape, bits), np.zeros(value.shape, dtype)):
                self.assertIs(session.run([value], out=[memory])["y"], memory)
                np.testing.assert_array_equal(as_bits(memory, bits), as_bits(value, bits), name)
            self.assertEqual(colonnade.numpy_dtype(name), dtype)

    def test_arithmetic_of_narrow_types(self):
        support.need("ml_dtypes")
        import ml_dtypes

        model = support.model_of(
            [helper.make_node("Cast", ["x"], ["y"], to=T.FLOAT)], [("x", T.INT4, [4])], [("y", T.FLOAT, [4])], opset=21
        )
        value = np.array([-8, -1, 0, 7]).astype(ml_dtypes.int4)
        np.testing.assert_array_equal(colonnade.Session(model)(value), [-8, -1, 0, 7])

    def test_strings(self):
        text = ["plain", "", "\u00fcml\u00e4ut", "\U0001f600", "with\0null", "x"]
        for dtype in (object, "U"):
            value = np.array(text, dtype).reshape(2, 3)
            result = run_identity(T.STRING, value)
            self.assertEqual(result.dtype, np.dtype(object))
            self.assertEqual(result.tolist(), value.tolist())
        self.assertEqual(run_identity(T.STRING, np.array([[b"bytes"]])).tolist(), [["bytes"]])
        self.assertEqual(run_identity(T.STRING, np.array("scalar", object)).shape, ())
        with self.assertRaisesRegex(colonnade.InvalidInput, "input 'x': expected strings, found int"):
            run_identity(T.STRING, np.array([[3]], object))

    def test_other_types_are_refused(self):
        for value in (np.array(["2020-01-01"], "M8[D]"), np.zeros(1, np.longdouble), np.zeros(1, [("a", "f4")])):
            with self.assertRaises(colonnade.InvalidInput):
                run_identity(T.FLOAT, value)
        with self.assertRaisesRegex(colonnade.InvalidInput, "expected float32, found float64"):
            run_identity(T.FLOAT, np.zeros(2))


class Layouts(unittest.TestCase):
    def setUp(self):
        self.session = colonnade.Session(support.identity(T.FLOAT, ["A", "B", "C"]))
        self.value = np.random.default_rng(1).random((4, 5, 6), np.float32)

    def check(self, value):
        np.testing.assert_array_equal(self.session(value), value)
        np.testing.assert_array_equal(self.session.run([value])["y"], value)

    def test_layouts(self):
        value = self.value
        for view in (
            value,
            value.T,
            value.transpose(1, 0, 2),
            value[::2],
            value[:, ::-1],
            value[1:3, 2:4, ::3],
            np.asfortranarray(value),
            np.broadcast_to(value[:1], (3, 5, 6)),
        ):
            self.check(view)

    def test_byte_order_and_alignment(self):
        self.check(self.value.astype(">f4"))
        raw = np.zeros(4 * 120 + 1, np.uint8)
        unaligned = raw[1:].view(np.float32).reshape(4, 5, 6)
        unaligned[...] = self.value
        self.check(unaligned)
        records = np.zeros((4, 5, 6), [("a", "f4"), ("b", "u1")])
        records["a"] = self.value
        self.check(records["a"])

    def test_read_only(self):
        self.value.flags.writeable = False
        self.check(self.value)

    def test_buffers(self):
        model = support.identity(T.FLOAT, [3])
        session = colonnade.Session(model)
        numbers = array.array("f", [1, 2, 3])
        self.assertEqual(session(numbers).tolist(), [1, 2, 3])
        self.assertEqual(session(memoryview(numbers)).tolist(), [1, 2, 3])
        octets = colonnade.Session(support.identity(T.UINT8, [3]))
        self.assertEqual(octets(b"abc").tolist(), [97, 98, 99])

    def test_dlpack(self):
        self.check_foreign(Foreign, self.value)
        self.check_foreign(Foreign, self.value[1:])

        class Broken(Foreign):
            def __dlpack__(self, **arguments):
                raise BufferError("it is elsewhere")

        with self.assertRaisesRegex(colonnade.InvalidInput, "input 'x': .*it is elsewhere"):
            self.session(Broken(self.value))

    def check_foreign(self, wrap, value):
        np.testing.assert_array_equal(self.session(wrap(value)), value)

    def test_lists_and_numbers(self):
        any_shape = colonnade.Session(support.identity(T.FLOAT, None))
        for value in ([1.0, 2.0, -3.5], (1, 2, 3), [[1, 2], [3, 4]], [True, False], 3, 2.5, []):
            expected = np.asarray(value, np.float32)
            answer = any_shape(value)
            self.assertEqual(answer.dtype, np.float32)
            np.testing.assert_array_equal(answer, expected)
        numbers = colonnade.Session(support.identity(T.INT64, ["N"]))
        self.assertEqual(numbers.run({"x": [1, 2]})["y"].tolist(), [1, 2])
        words = colonnade.Session(support.identity(T.STRING, ["N"]))
        self.assertEqual(words.run({"x": ["a", "bc"]})["y"].tolist(), ["a", "bc"])
        half = colonnade.Session(support.identity(T.FLOAT16, ["N"]))
        self.assertEqual(half.run({"x": [0.5, 2]})["y"].tolist(), [0.5, 2])
        message = "input 'x': expected int64, found a list of float64: give an array of that type, as numpy.asarray makes it"
        with self.assertRaisesRegex(colonnade.InvalidInput, message):
            numbers.run({"x": [1.5]})
        for wrong in ([[1], [2, 3]], [None], [object()]):
            with self.assertRaisesRegex(colonnade.InvalidInput, "input 'x': "):
                any_shape(wrong)

    def test_no_arrays(self):
        for value in (None, "text", object()):
            with self.assertRaisesRegex(colonnade.InvalidInput, "input 'x': expected an array"):
                self.session(value)


class Ownership(unittest.TestCase):
    def setUp(self):
        self.session = colonnade.Session(support.identity(T.FLOAT, ["N"]))

    def test_outputs_own_their_memory(self):
        value = np.arange(1000, dtype=np.float32)
        first = self.session(value)
        second = self.session(value + 1)
        self.assertTrue(first.flags.owndata and first.flags.writeable and first.flags.c_contiguous)
        np.testing.assert_array_equal(first, value)
        np.testing.assert_array_equal(second, value + 1)
        del self.session
        gc.collect()
        np.testing.assert_array_equal(first, value)

    def test_inputs_are_given_back(self):
        octets = colonnade.Session(support.identity(T.UINT8, ["N"]))
        value = bytearray(b"abc")
        octets.run({"x": value})
        with self.assertRaises(colonnade.ColonnadeError):
            octets.run({"x": value, "z": value})
        value.append(0)  # refuses while somebody reads it
        array = np.zeros(3, np.uint8)
        alive = weakref.ref(array)
        octets.run({"x": array})
        del array
        gc.collect()
        self.assertIsNone(alive())

    def test_out(self):
        value = np.arange(10, dtype=np.float32)
        memory = np.zeros(10, np.float32)
        for out in ({"y": memory}, [memory]):
            memory[:] = 0
            self.assertIs(self.session.run([value], out=out)["y"], memory)
            np.testing.assert_array_equal(memory, value)
        numbers = array.array("f", [0] * 10)
        self.session.run([value], out=[numbers])
        self.assertEqual(numbers.tolist(), value.tolist())

    def test_out_may_be_the_input(self):
        turned = colonnade.Session(
            support.model_of([helper.make_node("Transpose", ["x"], ["y"])], [("x", T.FLOAT, [5, 5])], [("y", T.FLOAT, [5, 5])])
        )
        value = np.arange(25, dtype=np.float32).reshape(5, 5)
        expected = value.T.copy()
        self.assertIs(turned.run([value], out=[value])["y"], value)
        np.testing.assert_array_equal(value, expected)

    def test_out_by_dlpack(self):
        value = np.arange(10, dtype=np.float32)
        memory = np.zeros((10, 2), np.float32)
        for part in (memory.reshape(-1)[:10], memory[:, 1]):
            memory[:] = 0
            wrapped = Foreign(part)
            self.assertIs(self.session.run([value], out=[wrapped])["y"], wrapped)
            np.testing.assert_array_equal(part, value)

    def test_wrong_out(self):
        value = np.arange(10, dtype=np.float32)
        locked = np.zeros(10, np.float32)
        locked.flags.writeable = False
        for out, message in (
            ([np.zeros(11, np.float32)], r"output 'y': expected shape \[10\], found \[11\]"),
            ([np.zeros(10)], "output 'y': expected float32, found float64"),
            ([locked], "output 'y': expected a writable array of the output's type, found one of float32 that is read-only"),
            ([memoryview(bytes(40)).cast("f")], "output 'y': expected a writable array .* memoryview that is read-only"),
            ([Foreign(locked)], "output 'y': expected a writable array"),
            ([[1.0] * 10], "output 'y': expected a writable array"),
            ([], "out: expected 1 arrays, found 0"),
            ({"z": locked}, "no output 'z'; there are: y"),
        ):
            with self.assertRaisesRegex(colonnade.InvalidArgument, message):
                self.session.run([value], out=out)
        with self.assertRaises(TypeError):
            self.session.run([value], out=3)


class OtherData(unittest.TestCase):
    def test_sequences(self):
        sequence = helper.make_tensor_sequence_value_info("s", T.FLOAT, None)
        model = support.model_of(
            [helper.make_node("SequenceInsert", ["s", "x"], ["t"]), helper.make_node("SequenceAt", ["t", "i"], ["y"])],
            [sequence, ("x", T.FLOAT, [2]), ("i", T.INT64, [])],
            [helper.make_tensor_sequence_value_info("t", T.FLOAT, None), ("y", T.FLOAT, None)],
        )
        session = colonnade.Session(model)
        one, two = np.ones(2, np.float32), np.full(2, 2, np.float32)
        for given in ([one], (one,), []):
            result = session.run({"s": given, "x": two, "i": np.array(-1)})
            self.assertIsInstance(result["t"], list)
            self.assertEqual(len(result["t"]), len(given) + 1)
            np.testing.assert_array_equal(result["y"], two)
        for wrong in (one, {"a": one}, [one.astype(np.float64)], [None]):
            with self.assertRaisesRegex(colonnade.InvalidInput, "input 's'"):
                session.run({"s": wrong, "x": two, "i": np.array(-1)})

    def test_elements_of_sequences_are_lent_and_results_are_their_own(self):
        sequence = helper.make_tensor_sequence_value_info("s", T.FLOAT, None)
        model = support.model_of(
            [helper.make_node("SequenceAt", ["s", "i"], ["y"]), helper.make_node("Identity", ["s"], ["t"])],
            [sequence, ("i", T.INT64, [])],
            [("y", T.FLOAT, None), helper.make_tensor_sequence_value_info("t", T.FLOAT, None)],
        )
        session = colonnade.Session(model)
        whole = np.arange(12, dtype=np.float32).reshape(3, 4)
        given = [whole.copy(), whole.T, whole[:, ::2], np.float32(5)]  # dense, turned, with gaps, a number
        for place, array in enumerate(given):
            expected = np.array(array)
            result = session.run({"s": given, "i": np.array(place)})
            np.testing.assert_array_equal(result["y"], expected)
            for found, wanted in zip(result["t"], given, strict=True):
                np.testing.assert_array_equal(found, wanted)
                self.assertFalse(np.shares_memory(found, wanted))
            if place < 3:
                array[...] = -1
                np.testing.assert_array_equal(result["y"], expected)
                np.testing.assert_array_equal(result["t"][place], expected)

    def test_optionals(self):
        tensor = helper.make_tensor_type_proto(T.FLOAT, [2])
        optional = helper.make_value_info("o", helper.make_optional_type_proto(tensor))
        model = support.model_of(
            [helper.make_node("OptionalHasElement", ["o"], ["y"])], [optional], [("y", T.BOOL, [])], opset=18
        )
        session = colonnade.Session(model)
        self.assertTrue(session.run({"o": np.ones(2, np.float32)})["y"])
        self.assertFalse(session.run({"o": None})["y"])
        self.assertFalse(session.run({})["y"])

    def test_maps(self):
        for keys, name in (([3, 1, 2], "classlabels_int64s"), (["c", "a", "b"], "classlabels_strings")):
            key_type = T.INT64 if isinstance(keys[0], int) else T.STRING
            inner = helper.make_map_type_proto(key_type, helper.make_tensor_type_proto(T.FLOAT, []))
            model = support.model_of(
                [helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", **{name: keys})],
                [("x", T.FLOAT, ["N", 3])],
                [helper.make_value_info("y", helper.make_sequence_type_proto(inner))],
            )
            result = colonnade.Session(model)(np.array([[1, 2, 3], [4, 5, 6]], np.float32))
            self.assertEqual(result, [dict(zip(keys, [1, 2, 3])), dict(zip(keys, [4, 5, 6]))])

    def test_map_inputs(self):
        map_type = helper.make_map_type_proto(T.STRING, helper.make_tensor_type_proto(T.FLOAT, []))
        model = support.model_of(
            [helper.make_node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", string_vocabulary=["a", "b", "c"])],
            [helper.make_value_info("x", map_type)],
            [("y", T.FLOAT, [1, 3])],
        )
        session = colonnade.Session(model)
        self.assertEqual(session({"c": 3.0, "a": 1.0}).tolist(), [[1, 0, 3]])
        with self.assertRaisesRegex(colonnade.InvalidInput, "input 'x': expected a dict, found list"):
            session([1.0])
        with self.assertRaisesRegex(colonnade.InvalidInput, "input 'x', values: "):
            session({"a": "no number"})


if __name__ == "__main__":
    support.main()
