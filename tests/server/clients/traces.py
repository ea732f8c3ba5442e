# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry's own messages read what the server tells a collector."""

import base64
import http.server
import json
import os
import queue
import threading
import unittest
import urllib.request

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
told = queue.Queue()


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        told.put((self.path, self.headers["Content-Type"], self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def parsed(body):
    """Identifiers travel as hexadecimal digits, unlike other bytes in JSON of protobuf."""

    def base64_ids(value):
        if isinstance(value, list):
            return [base64_ids(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {key: base64.b64encode(bytes.fromhex(each)).decode() if key.endswith("Id") else base64_ids(each)
                for key, each in value.items()}

    return json_format.ParseDict(base64_ids(json.loads(body)), trace_service_pb2.ExportTraceServiceRequest())


class Traces(unittest.TestCase):
    def test_a_request(self):
        port = int(os.environ["COLONNADE_COLLECTOR"])
        with http.server.ThreadingHTTPServer(("127.0.0.1", port), Collector) as collector:
            threading.Thread(target=collector.serve_forever, daemon=True).start()
            body = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}]}
            request = urllib.request.Request(f"http://{os.environ['COLONNADE_HTTP']}/v2/models/batched/infer",
                                             json.dumps(body).encode(), {"traceparent": f"00-{TRACE}-{SPAN}-01"})
            urllib.request.urlopen(request, timeout=20).close()
            path, content_type, sent = told.get(timeout=20)
            collector.shutdown()
        self.assertEqual((path, content_type), ("/v1/traces", "application/json"))
        resource, = parsed(sent).resource_spans
        self.assertEqual(resource.resource.attributes[0].value.string_value, "colonnade")
        spans = {span.name: span for span in resource.scope_spans[0].spans}
        self.assertEqual(set(spans), {"request", "queue", "compute"})
        self.assertTrue(all(span.trace_id.hex() == TRACE for span in spans.values()))
        self.assertEqual(spans["request"].parent_span_id.hex(), SPAN)
        self.assertEqual(spans["compute"].parent_span_id, spans["request"].span_id)
        self.assertEqual(spans["request"].kind, trace_pb2.Span.SPAN_KIND_SERVER)
        self.assertLessEqual(spans["request"].start_time_unix_nano, spans["queue"].start_time_unix_nano + 10**6)
        self.assertEqual(spans["compute"].attributes[0].value.int_value, 1)


if __name__ == "__main__":
    unittest.main()
