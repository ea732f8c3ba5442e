# SPDX-License-Identifier: Apache-2.0
"""kserve's clients of both protocols."""

import os
import unittest

import grpc
import httpx
import numpy as np
from kserve import InferInput, InferRequest
from kserve.inference_client import InferenceGRPCClient, InferenceRESTClient, RESTConfig

URL = "http://" + os.environ["COLONNADE_HTTP"]


def request(model, array, datatype="FP32", name="x", binary=False):
    tensor = InferInput(name=name, shape=list(array.shape), datatype=datatype)
    tensor.set_data_from_numpy(array, binary_data=binary)
    return InferRequest(model_name=model, infer_inputs=[tensor], request_id="7")


class Kserve(unittest.IsolatedAsyncioTestCase):
    async def test_rest(self):
        async with InferenceRESTClient(RESTConfig(protocol="v2", timeout=60)) as client:
            self.assertTrue(await client.is_server_live(URL))
            self.assertTrue(await client.is_server_ready(URL))
            self.assertTrue(await client.is_model_ready(URL, "echo_FP32"))
            array = np.array([[1.5, -2]], np.float32)
            for binary in (True, False):
                answer = await client.infer(URL, request("echo_FP32", array, binary=binary), model_name="echo_FP32")
                np.testing.assert_array_equal(answer.outputs[0].as_numpy(), array)
                self.assertEqual(answer.id, "7")
            with self.assertRaises(httpx.HTTPStatusError) as caught:
                await client.infer(URL, request("nobody", array), model_name="nobody")
            self.assertEqual(caught.exception.response.status_code, 404)
            with self.assertRaises(httpx.HTTPStatusError) as caught:
                await client.infer(URL, request("echo_FP32", array, name="z"), model_name="echo_FP32")
            self.assertEqual(caught.exception.response.status_code, 400)
            self.assertIn("'z'", caught.exception.response.json()["error"])

    async def test_grpc(self):
        async with InferenceGRPCClient(os.environ["COLONNADE_GRPC"], timeout=60) as client:
            self.assertTrue(await client.is_server_live())
            self.assertTrue(await client.is_server_ready())
            self.assertTrue(await client.is_model_ready("echo_FP32"))
            array = np.array([[1.5, -2]], np.float32)
            for binary in (True, False):
                answer = await client.infer(request("echo_FP32", array, binary=binary))
                np.testing.assert_array_equal(answer.outputs[0].as_numpy(), array)
            with self.assertRaises(grpc.RpcError) as caught:
                await client.infer(request("nobody", array))
            self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)


if __name__ == "__main__":
    unittest.main()
