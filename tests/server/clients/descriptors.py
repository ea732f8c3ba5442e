# SPDX-License-Identifier: Apache-2.0
"""Our messages have the names, numbers and types of tritonclient's."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from google.protobuf import descriptor_pb2
from tritonclient.grpc import model_config_pb2, service_pb2


def fields(prefix, messages, found):
    for message in messages:
        name = f"{prefix}.{message.name}"
        for field in message.field:
            found[f"{name}.{field.name}"] = (field.number, field.label, field.type, field.type_name)
        for enum in message.enum_type:
            found.update({f"{name}.{enum.name}.{value.name}": value.number for value in enum.value})
        fields(name, message.nested_type, found)


def facts(files):
    found = {}
    for file in files:
        fields(file.package, file.message_type, found)
        for enum in file.enum_type:
            found.update({f"{file.package}.{enum.name}.{value.name}": value.number for value in enum.value})
        for service in file.service:
            for method in service.method:
                found[f"{file.package}.{service.name}.{method.name}"] = (
                    method.input_type, method.output_type, method.client_streaming, method.server_streaming)
    return found


class Descriptors(unittest.TestCase):
    def test_are_those_of_the_client(self):
        folder = pathlib.Path(os.environ["COLONNADE_PROTO"])
        with tempfile.NamedTemporaryFile() as out:
            subprocess.run(["protoc", f"--proto_path={folder}", f"--descriptor_set_out={out.name}", "--include_imports",
                            "grpc_service.proto", "model_config.proto"], check=True)
            ours = facts(descriptor_pb2.FileDescriptorSet.FromString(out.read()).file)
        theirs = []
        for module in (service_pb2, model_config_pb2):
            file = descriptor_pb2.FileDescriptorProto()
            module.DESCRIPTOR.CopyToProto(file)
            theirs.append(file)
        known = facts(theirs)
        self.assertGreater(len(known), 400)
        self.assertEqual({name: ours.get(name) for name in known}, known)


if __name__ == "__main__":
    unittest.main()
