# SPDX-License-Identifier: Apache-2.0
"""tritonclient.grpc: every call, rightly and wrongly used."""

import asyncio
import os
import queue
import unittest

import grpc
import numpy as np
import tritonclient.grpc as triton
import tritonclient.grpc.aio as triton_async
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException

from examples import EXAMPLES, EXPECTED_STATISTICS, echo_model

ADDRESS = os.environ["COLONNADE_GRPC"]


def make_input(array, datatype="FP32", name="x"):
    tensor = triton.InferInput(name, array.shape, datatype)
    tensor.set_data_from_numpy(array)
    return tensor


class Grpc(unittest.TestCase):
    def setUp(self):
        self.client = triton.InferenceServerClient(ADDRESS)

    def tearDown(self):
        self.client.close()

    def refused(self, status, part, call, *args, **kwargs):
        with self.assertRaises(InferenceServerException) as caught:
            call(*args, **kwargs)
        self.assertEqual(caught.exception.status(), "StatusCode." + status, caught.exception.message())
        self.assertIn(part, caught.exception.message())

    def test_health(self):
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        self.assertTrue(self.client.is_model_ready("echo_FP32"))
        self.assertFalse(self.client.is_model_ready("echo_FP32", "2"))
        self.assertFalse(self.client.is_model_ready("nobody"))

    def test_metadata_and_configuration(self):
        self.assertIn("model_repository", self.client.get_server_metadata().extensions)
        metadata = self.client.get_model_metadata("batched", as_json=True)
        self.assertEqual(metadata["inputs"], [{"name": "x", "datatype": "FP32", "shape": ["-1", "4"]}])
        self.assertEqual(self.client.get_model_config("batched").config.max_batch_size, 8)
        for call in (self.client.get_model_metadata, self.client.get_model_config, self.client.get_inference_statistics):
            self.refused("NOT_FOUND", "nobody", call, "nobody")
            self.refused("NOT_FOUND", "echo_FP32", call, "echo_FP32", "9")
            self.refused("INVALID_ARGUMENT", "x1", call, "echo_FP32", "x1")

    def test_types(self):
        for datatype, array in EXAMPLES.items():
            answer = self.client.infer("echo_" + datatype, [make_input(array, datatype)], request_id="7")
            np.testing.assert_array_equal(answer.as_numpy("y").astype(array.dtype), array, datatype)
            self.assertEqual(answer.get_response().id, "7")

    def test_typed_contents(self):
        stub = self.client._client_stub
        request = service_pb2.ModelInferRequest(model_name="echo_FP32")
        tensor = request.inputs.add(name="x", datatype="FP32", shape=[1, 2])
        tensor.contents.fp32_contents.extend([1, 2])
        answer = stub.ModelInfer(request)
        self.assertEqual(np.frombuffer(answer.raw_output_contents[0], np.float32).tolist(), [1, 2])
        request.raw_input_contents.append(b"12345678")
        with self.assertRaises(grpc.RpcError) as caught:
            stub.ModelInfer(request)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)

    def test_compression(self):
        array = np.zeros((5000, 2), np.float32)
        for algorithm in ("gzip", "deflate"):
            answer = self.client.infer("echo_FP32", [make_input(array)], compression_algorithm=algorithm)
            np.testing.assert_array_equal(answer.as_numpy("y"), array)

    def test_classification_with_labels(self):
        outputs = [triton.InferRequestedOutput("y", class_count=1)]
        answer = self.client.infer("batched", [make_input(np.array([[1, 5, 2, 3]], np.float32))], outputs=outputs)
        self.assertEqual(answer.as_numpy("y")[0][0].decode(), "5.000000:1:one")

    def test_parameters_and_concurrency(self):
        array = np.ones((1, 4), np.float32)
        answer = self.client.infer("batched", [make_input(array)], timeout=30_000_000, priority=0,
                                   parameters={"colour": "red", "count": 3, "flag": True})
        np.testing.assert_array_equal(answer.as_numpy("y"), array)
        done = queue.Queue()
        for i in range(50):
            self.client.async_infer("batched", [make_input(array * i)],
                                    lambda result, error, i=i: done.put((i, result, error)))
        for _ in range(50):
            i, result, error = done.get(timeout=30)
            self.assertIsNone(error)
            np.testing.assert_array_equal(result.as_numpy("y"), array * i)

    def test_stream(self):
        done = queue.Queue()
        self.client.start_stream(lambda result, error: done.put((result, error)))
        for i in range(50):
            model = "nobody" if i == 10 else "batched"
            self.client.async_stream_infer(model, [make_input(np.full((1, 4), i, np.float32))], request_id=str(i))
        answers, errors = {}, []
        for _ in range(50):
            result, error = done.get(timeout=30)
            if error:
                errors.append(error.message())
            else:
                answers[int(result.get_response().id)] = result.as_numpy("y")
        self.client.stop_stream()
        self.assertEqual(len(errors), 1)
        self.assertIn("nobody", errors[0])
        self.assertEqual(sorted(answers), [i for i in range(50) if i != 10])
        for i, array in answers.items():
            np.testing.assert_array_equal(array, np.full((1, 4), i))

    def test_wrong_inferences(self):
        good = make_input(np.zeros((1, 2), np.float32))
        infer = self.client.infer
        invalid = "INVALID_ARGUMENT"
        self.refused("NOT_FOUND", "nobody", infer, "nobody", [good])
        self.refused("NOT_FOUND", "version 5", infer, "echo_FP32", [good], model_version="5")
        self.refused(invalid, "'z'", infer, "echo_FP32", [make_input(np.zeros((1, 2), np.float32), name="z")])
        self.refused(invalid, "x", infer, "echo_FP32", [])
        self.refused(invalid, "x", infer, "echo_FP32", [good, good])
        self.refused(invalid, "FP32", infer, "echo_FP32", [make_input(np.zeros((1, 2), np.int32), "INT32")])
        self.refused(invalid, "shape", infer, "echo_FP32", [make_input(np.zeros((1, 3), np.float32))])
        self.refused(invalid, "<= 8", infer, "batched", [make_input(np.zeros((9, 4), np.float32))])
        self.refused(invalid, "'q'", infer, "echo_FP32", [good], outputs=[triton.InferRequestedOutput("q")])
        shared = triton.InferInput("x", [1, 2], "FP32")
        shared.set_shared_memory("region", 8)
        self.refused("NOT_FOUND", "shared memory", infer, "echo_FP32", [shared])
        large = make_input(np.zeros((9 << 20, 2), np.float32))
        self.refused("RESOURCE_EXHAUSTED", "larger than max", infer, "echo_FP32", [large])

    def test_repository(self):
        states = {model.name: model.state for model in self.client.get_model_repository_index().models}
        self.assertEqual(states["batched"], "READY")
        self.client.load_model("versions")
        self.assertEqual(list(self.client.get_model_metadata("versions").versions), ["1", "3"])
        self.client.unload_model("versions")
        self.assertFalse(self.client.is_model_ready("versions"))
        self.client.load_model("sent_grpc", config="{}", files={"file:1/model.onnx": echo_model(1, [2])})
        self.assertTrue(self.client.is_model_ready("sent_grpc"))
        self.client.unload_model("sent_grpc")
        self.refused("NOT_FOUND", "nobody", self.client.load_model, "nobody")
        self.refused("NOT_FOUND", "nobody", self.client.unload_model, "nobody")
        self.refused("INVALID_ARGUMENT", "broken", self.client.load_model, "broken")
        self.refused("UNIMPLEMENTED", "sequence_batching", self.client.load_model, "refused")

    def test_statistics(self):
        self.client.infer("echo_INT64", [make_input(np.zeros((1, 2), np.int64), "INT64")])
        statistics = self.client.get_inference_statistics("echo_INT64", as_json=True)["model_stats"][0]
        self.assertLessEqual(EXPECTED_STATISTICS, set(statistics))

    def test_what_is_not_supported(self):
        self.refused("UNIMPLEMENTED", "not supported", self.client.get_cuda_shared_memory_status)
        self.refused("UNIMPLEMENTED", "not supported", self.client.get_trace_settings)
        self.refused("UNIMPLEMENTED", "not supported", self.client.get_log_settings)

    def test_async_client(self):
        async def talk():
            async with triton_async.InferenceServerClient(ADDRESS) as client:
                self.assertTrue(await client.is_server_live())
                array = np.ones((1, 4), np.float32)
                answers = await asyncio.gather(*(client.infer("batched", [make_input(array * i)]) for i in range(20)))
                for i, answer in enumerate(answers):
                    np.testing.assert_array_equal(answer.as_numpy("y"), array * i)

                async def requests():
                    for i in range(5):
                        yield {"model_name": "batched", "inputs": [make_input(array * i)], "request_id": str(i)}

                seen = set()
                async for result, error in client.stream_infer(requests()):
                    self.assertIsNone(error)
                    seen.add(result.get_response().id)
                self.assertEqual(seen, {"0", "1", "2", "3", "4"})
                with self.assertRaises(InferenceServerException):
                    await client.get_model_metadata("nobody")

        asyncio.run(talk())


if __name__ == "__main__":
    unittest.main()
