# SPDX-License-Identifier: Apache-2.0
"""tritonclient.http: every call, rightly and wrongly used."""

import asyncio
import os
import unittest

import numpy as np
import tritonclient.http as triton
import tritonclient.http.aio as triton_async
from tritonclient.utils import InferenceServerException

from examples import EXAMPLES, EXPECTED_STATISTICS, echo_model

ADDRESS = os.environ["COLONNADE_HTTP"]


def make_input(array, datatype="FP32", binary=True, name="x"):
    tensor = triton.InferInput(name, array.shape, datatype)
    tensor.set_data_from_numpy(array, binary_data=binary)
    return tensor


class Http(unittest.TestCase):
    def setUp(self):
        self.client = triton.InferenceServerClient(ADDRESS, concurrency=4)

    def tearDown(self):
        self.client.close()

    def refused(self, status, part, call, *args, **kwargs):
        with self.assertRaises(InferenceServerException) as caught:
            call(*args, **kwargs)
        self.assertEqual(caught.exception.status(), str(status), caught.exception.message())
        self.assertIn(part, caught.exception.message())

    def test_health(self):
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        self.assertTrue(self.client.is_model_ready("echo_FP32"))
        self.assertTrue(self.client.is_model_ready("echo_FP32", "1"))
        self.assertFalse(self.client.is_model_ready("echo_FP32", "2"))
        self.assertFalse(self.client.is_model_ready("nobody"))

    def test_metadata_and_configuration(self):
        self.assertIn("binary_tensor_data", self.client.get_server_metadata()["extensions"])
        metadata = self.client.get_model_metadata("batched")
        self.assertEqual(metadata["inputs"], [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}])
        config = self.client.get_model_config("batched")
        self.assertEqual(config["max_batch_size"], 8)
        self.assertEqual(config["input"][0]["data_type"], "TYPE_FP32")
        for call in (self.client.get_model_metadata, self.client.get_model_config, self.client.get_inference_statistics):
            self.refused(404, "nobody", call, "nobody")
            self.refused(404, "echo_FP32", call, "echo_FP32", "9")
            self.refused(400, "x1", call, "echo_FP32", "x1")

    def test_types_and_forms(self):
        for datatype, array in EXAMPLES.items():
            for binary in (True, False):
                if datatype in ("FP16", "BF16") and not binary:
                    continue
                if datatype == "BF16":
                    array = np.array([[1.5, -2], [0, 3]], np.float32)
                tensors = [make_input(array, datatype, binary)]
                outputs = [triton.InferRequestedOutput("y", binary_data=binary)]
                answer = self.client.infer("echo_" + datatype, tensors, outputs=outputs, request_id="7")
                found = answer.as_numpy("y")
                if datatype == "BYTES" and not binary:  # JSON has text
                    found = np.vectorize(str.encode, otypes=[object])(found)
                np.testing.assert_array_equal(found.astype(array.dtype), array, datatype)
                self.assertEqual(answer.get_response()["id"], "7")
                answer = self.client.infer("echo_" + datatype, tensors)
                np.testing.assert_array_equal(answer.as_numpy("y").astype(array.dtype), array, datatype)

    def test_compression(self):
        array = np.zeros((5000, 2), np.float32)
        for algorithm in ("gzip", "deflate"):
            answer = self.client.infer("echo_FP32", [make_input(array)], request_compression_algorithm=algorithm,
                                       response_compression_algorithm=algorithm)
            np.testing.assert_array_equal(answer.as_numpy("y"), array)

    def test_classification_with_labels(self):
        outputs = [triton.InferRequestedOutput("y", class_count=2)]
        answer = self.client.infer("batched", [make_input(np.array([[1, 5, 2, 3]], np.float32))], outputs=outputs)
        first = answer.as_numpy("y")[0]
        self.assertEqual([text.decode() for text in first], ["5.000000:1:one", "3.000000:3:three"])

    def test_parameters_and_concurrency(self):
        array = np.ones((1, 4), np.float32)
        answer = self.client.infer("batched", [make_input(array)], timeout=30_000_000, parameters={"colour": "red"})
        np.testing.assert_array_equal(answer.as_numpy("y"), array)
        pending = [(i, self.client.async_infer("batched", [make_input(array * i)])) for i in range(50)]
        for i, request in pending:
            np.testing.assert_array_equal(request.get_result().as_numpy("y"), array * i)

    def test_wrong_inferences(self):
        good = make_input(np.zeros((1, 2), np.float32))
        infer = self.client.infer
        self.refused(404, "nobody", infer, "nobody", [good])
        self.refused(404, "version 5", infer, "echo_FP32", [good], model_version="5")
        self.refused(400, "'z'", infer, "echo_FP32", [make_input(np.zeros((1, 2), np.float32), name="z")])
        self.refused(400, "x", infer, "echo_FP32", [])
        self.refused(400, "x", infer, "echo_FP32", [good, good])
        self.refused(400, "FP32", infer, "echo_FP32", [make_input(np.zeros((1, 2), np.int32), "INT32")])
        self.refused(400, "shape", infer, "echo_FP32", [make_input(np.zeros((1, 3), np.float32))])
        self.refused(400, "<= 8", infer, "batched", [make_input(np.zeros((9, 4), np.float32))])
        self.refused(400, "'q'", infer, "echo_FP32", [good], outputs=[triton.InferRequestedOutput("q")])
        shared = triton.InferInput("x", [1, 2], "FP32")
        shared.set_shared_memory("region", 8)
        self.refused(404, "shared memory", infer, "echo_FP32", [shared])

    def test_repository(self):
        states = {model["name"]: model.get("state") for model in self.client.get_model_repository_index()}
        self.assertEqual(states["batched"], "READY")
        self.assertNotEqual(states["broken"], "READY")
        self.client.load_model("versions")
        self.assertTrue(self.client.is_model_ready("versions", "1"))
        self.assertEqual(self.client.get_model_metadata("versions")["versions"], ["1", "3"])
        self.client.load_model("versions", config='{"version_policy": {"specific": {"versions": [1]}}}')
        self.assertFalse(self.client.is_model_ready("versions", "3"))
        self.client.unload_model("versions")
        self.assertFalse(self.client.is_model_ready("versions"))
        self.client.load_model("sent_http", config="{}", files={"file:1/model.onnx": echo_model(1, [2])})
        answer = self.client.infer("sent_http", [make_input(np.ones(2, np.float32))])
        np.testing.assert_array_equal(answer.as_numpy("y"), [1, 1])
        self.client.unload_model("sent_http")
        self.refused(404, "nobody", self.client.load_model, "nobody")
        self.refused(404, "nobody", self.client.unload_model, "nobody")
        self.refused(400, "broken", self.client.load_model, "broken")
        self.refused(501, "sequence_batching", self.client.load_model, "refused")
        self.refused(400, "JSON", self.client.load_model, "versions", config="{")
        self.refused(400, "file", self.client.load_model, "versions", config="{}", files={"file:1/../x": b"x"})

    def test_statistics(self):
        self.client.infer("echo_INT64", [make_input(np.zeros((1, 2), np.int64), "INT64")])
        statistics = self.client.get_inference_statistics("echo_INT64")["model_stats"][0]
        self.assertLessEqual(EXPECTED_STATISTICS, set(statistics))
        self.assertGreaterEqual(statistics["inference_count"], 1)
        self.assertGreater(len(self.client.get_inference_statistics()["model_stats"]), 10)

    def test_what_is_not_supported(self):
        self.refused(501, "not supported", self.client.get_cuda_shared_memory_status)
        self.refused(501, "not supported", self.client.get_trace_settings)
        self.refused(501, "not supported", self.client.get_log_settings)

    def test_async_client(self):
        async def talk():
            async with triton_async.InferenceServerClient(ADDRESS) as client:
                self.assertTrue(await client.is_server_live())
                array = np.ones((1, 4), np.float32)
                answers = await asyncio.gather(*(client.infer("batched", [make_input(array * i)]) for i in range(20)))
                for i, answer in enumerate(answers):
                    np.testing.assert_array_equal(answer.as_numpy("y"), array * i)
                with self.assertRaises(InferenceServerException):
                    await client.get_model_metadata("nobody")

        asyncio.run(talk())


if __name__ == "__main__":
    unittest.main()
