# SPDX-License-Identifier: Apache-2.0
"""The cases of single operators that the onnx package makes, of whatever version is installed: results that it computed
itself. Those of a newer opset or format than are read here are counted as skipped."""
import re
import unittest

import support

support.need("colonnade", "numpy", "onnx", "ml_dtypes", "PIL")

import numpy as np
import onnx
from ml_dtypes import bfloat16

import colonnade

try:
    from onnx.backend.test.loader import load_node_model_tests
except ImportError as error:
    support.skip(error)

SOURCES = support.ROOT / "frontends" / "onnx"
RANDOM = ("test_bernoulli",)


def constant(file, name):
    return int(re.search(rf"{name} = (\d+)", (SOURCES / file).read_text()).group(1))


NEWEST_IR, NEWEST_OPSET = constant("onnx.cpp", "kNewestIr"), constant("format.hpp", "kNewestOpset")


def is_newer(model):
    return model.ir_version > NEWEST_IR or any(
        opset.version > NEWEST_OPSET for opset in model.opset_import if not opset.domain)


def value_of(proto):
    if isinstance(proto, onnx.TensorProto):
        return onnx.numpy_helper.to_array(proto)
    if isinstance(proto, onnx.SequenceProto):
        return [value_of(element) for element in onnx.numpy_helper.to_list(proto)]
    if isinstance(proto, onnx.OptionalProto):
        element = onnx.numpy_helper.to_optional(proto)
        return None if element is None else value_of(element)
    return proto


def texts(array):
    return [text.decode() if isinstance(text, bytes) else str(text) for text in array.ravel()]


def agree(found, wanted, rtol, atol):
    if isinstance(wanted, (list, tuple)):
        return len(found) == len(wanted) and all(agree(*pair, rtol, atol) for pair in zip(found, wanted))
    if wanted is None:
        return found is None
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.shape != wanted.shape:
        return False
    if wanted.dtype.kind in "OSU":
        return texts(found) == texts(wanted)
    if found.dtype != wanted.dtype:
        return False
    if wanted.dtype == bfloat16:
        rtol, atol = max(rtol, 1e-2), max(atol, 1e-2)
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    return np.allclose(found.astype(wide), wanted.astype(wide), rtol, max(atol, 1e-5), equal_nan=True)


class Nodes(unittest.TestCase):
    def test_results_are_those_of_the_package(self):
        newer = count = 0
        with np.errstate(all="ignore"):
            cases = load_node_model_tests()
        for case in cases:
            if case.model is None or case.name.startswith(RANDOM):
                continue
            if is_newer(case.model):
                newer += 1
                continue
            names = [value.name for value in case.model.graph.input]
            with self.subTest(case.name):
                session = colonnade.Session(case.model.SerializeToString())
                for inputs, outputs in case.data_sets:
                    feeds = {name: value_of(value) for name, value in zip(names, inputs)}
                    found = session.run({name: value for name, value in feeds.items() if value is not None})
                    wanted = [value_of(value) for value in outputs]
                    self.assertTrue(agree(list(found.values()), wanted, case.rtol, case.atol))
                    count += 1
        print(f"onnx {onnx.__version__}: {count} cases, {newer} of a newer format or opset")
        if newer:
            self.skipTest(f"{newer} cases of onnx {onnx.__version__} are of a newer format or opset than is read")
        self.assertGreater(count, 1000)


if __name__ == "__main__":
    support.main()
