# SPDX-License-Identifier: Apache-2.0
"""tritonclient's utilities for shared memory, with both of its clients."""

import os
import unittest

import numpy as np
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException, serialize_byte_tensor, shared_memory

BYTES = 4096


class SharedMemory:
    """What both protocols are asked."""

    def setUp(self):
        self.client = self.triton.InferenceServerClient(self.address)
        self.key = f"/colonnade_clients_{os.getpid()}_{self.id().rsplit('.', 1)[1]}"
        self.region = shared_memory.create_shared_memory_region("there", self.key, BYTES)
        self.client.unregister_system_shared_memory()

    def tearDown(self):
        self.client.unregister_system_shared_memory()
        shared_memory.destroy_shared_memory_region(self.region)
        self.client.close()

    def infer(self, array, datatype, count=None, place=("there", 0), output_place=("there", 1024)):
        tensor = self.triton.InferInput("x", array.shape, datatype)
        tensor.set_shared_memory(place[0], count or array.nbytes, place[1])
        output = self.triton.InferRequestedOutput("y")
        output.set_shared_memory(output_place[0], 512, output_place[1])
        return self.client.infer("echo_" + datatype, [tensor], outputs=[output])

    def refused(self, part, call, *args, **kwargs):
        with self.assertRaises(InferenceServerException) as caught:
            call(*args, **kwargs)
        self.assertIn(part, caught.exception.message())

    def test_inputs_and_outputs(self):
        self.client.register_system_shared_memory("there", self.key, BYTES)
        array = np.array([[1.5, -2], [3e38, 0]], np.float32)
        shared_memory.set_shared_memory_region(self.region, [array])
        answer = self.infer(array, "FP32")
        self.assertEqual(self.shape_of(answer.get_output("y")), array.shape)
        found = shared_memory.get_contents_as_numpy(self.region, np.float32, array.shape, 1024)
        np.testing.assert_array_equal(found, array)

    def test_strings(self):
        self.client.register_system_shared_memory("there", self.key, BYTES)
        array = np.array([[b"text", b""], [b"\xc3\xa4", b"longer text"]], object)
        sent = serialize_byte_tensor(array)
        shared_memory.set_shared_memory_region(self.region, [sent])
        self.infer(array, "BYTES", len(sent.item()))
        found = shared_memory.get_contents_as_numpy(self.region, np.object_, array.shape, 1024)
        np.testing.assert_array_equal(found, array)

    def test_status(self):
        self.client.register_system_shared_memory("there", self.key, 1000, 24)
        self.assertEqual(self.regions(), {"there": (self.key, 24, 1000)})
        self.refused("registered already", self.client.register_system_shared_memory, "there", self.key, 8)
        self.client.unregister_system_shared_memory("there")
        self.assertEqual(self.regions(), {})

    def test_refusals(self):
        array = np.zeros((1, 2), np.float32)
        self.refused("'there'", self.infer, array, "FP32")
        self.refused("cannot be opened", self.client.register_system_shared_memory, "there", "/colonnade_none", 8)
        self.refused("does not hold", self.client.register_system_shared_memory, "there", self.key, BYTES + 1)
        self.refused("no name", self.client.register_system_shared_memory, "there", "/../etc/passwd", 8)
        self.client.register_system_shared_memory("there", self.key, BYTES)
        self.refused("not within", self.infer, array, "FP32", place=("there", BYTES - 4))
        os.truncate("/dev/shm" + self.key, 4)
        self.refused("not there any more", self.infer, array, "FP32")
        self.assertTrue(self.client.is_server_live())
        self.refused("not supported", self.client.get_cuda_shared_memory_status)


class Http(SharedMemory, unittest.TestCase):
    triton, address = tritonclient.http, os.environ["COLONNADE_HTTP"]

    def shape_of(self, output):
        return tuple(output["shape"])

    def regions(self):
        rows = self.client.get_system_shared_memory_status()
        return {row["name"]: (row["key"], row["offset"], row["byte_size"]) for row in rows}


class Grpc(SharedMemory, unittest.TestCase):
    triton, address = tritonclient.grpc, os.environ["COLONNADE_GRPC"]

    def shape_of(self, output):
        return tuple(output.shape)

    def regions(self):
        rows = self.client.get_system_shared_memory_status().regions
        return {name: (row.key, row.offset, row.byte_size) for name, row in rows.items()}


if __name__ == "__main__":
    unittest.main()
