# SPDX-License-Identifier: Apache-2.0
"""frontends/server/deploy as the models of Kubernetes' and KServe's own packages see it, and KServe's server in Python."""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

import kserve
import kubernetes
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "frontends" / "server" / "deploy"
MODELS = {
    ("apps/v1", "Deployment"): "V1Deployment",
    ("v1", "Service"): "V1Service",
    ("policy/v1", "PodDisruptionBudget"): "V1PodDisruptionBudget",
    ("autoscaling/v2", "HorizontalPodAutoscaler"): "V2HorizontalPodAutoscaler",
    ("serving.kserve.io/v1beta1", "InferenceService"): "V1beta1InferenceService",
    ("serving.kserve.io/v1alpha1", "ClusterServingRuntime"): "V1alpha1ClusterServingRuntime",
}
PLAIN = {"str": str, "int": int, "bool": bool, "float": float, "object": object}


def check(value, type_name, where):
    """Throws where a field is unknown, missing or of another type."""
    if found := re.fullmatch(r"list\[(.*)\]", type_name):
        if not isinstance(value, list):
            raise ValueError(f"{where}: expected a list")
        for i, each in enumerate(value):
            check(each, found[1], f"{where}[{i}]")
    elif found := re.fullmatch(r"dict\(str, (.*)\)", type_name):
        for key, each in value.items():
            check(each, found[1], f"{where}.{key}")
    elif type_name in PLAIN:
        if not isinstance(value, PLAIN[type_name]):
            raise ValueError(f"{where}: expected {type_name}, found {value!r}")
    elif hasattr(kserve.models, type_name):
        model = getattr(kserve.models, type_name)
        names = {field: name for name, field in model.attribute_map.items()}
        for field, each in value.items():
            if field not in names:
                raise ValueError(f"{where}.{field} is unknown")
            check(each, model.openapi_types[names[field]], f"{where}.{field}")
        model(**{names[field]: each for field, each in value.items()})  # refuses what lacks a field
    else:  # Kubernetes' own lose what they do not know
        model = getattr(kubernetes.client, type_name)
        known = kubernetes.client.ApiClient().sanitize_for_serialization(model.from_dict(value))
        if known != value:
            raise ValueError(f"{where}: expected {known}, found {value}")


def check_whole(value):
    check(value, MODELS[value["apiVersion"], value["kind"]], value["kind"])


class Manifests(unittest.TestCase):
    def test_every_field_is_known(self):
        files = [DEPLOY / "kserve.yaml", DEPLOY / "inference-service.yaml", *sorted((DEPLOY / "kustomize").glob("*.yaml"))]
        values = [yaml.safe_load(file.read_text()) for file in files if file.name != "kustomization.yaml"]
        for value in values:
            check_whole(value)
        self.assertEqual({(value["apiVersion"], value["kind"]) for value in values}, set(MODELS))

    def test_unknown_and_missing_fields_are_seen(self):
        def refused(file, change):
            value = yaml.safe_load((DEPLOY / file).read_text())
            change(value["spec"])
            with self.assertRaises(ValueError, msg=file):
                check_whole(value)

        refused("kustomize/autoscaling.yaml", lambda spec: spec.update(maxReplica=3))
        refused("kustomize/autoscaling.yaml", lambda spec: spec.pop("maxReplicas"))
        refused("inference-service.yaml", lambda spec: spec["predictor"]["model"].update(runtimes="x"))
        refused("inference-service.yaml", lambda spec: spec["predictor"]["model"].pop("modelFormat"))
        refused("inference-service.yaml", lambda spec: spec.pop("predictor"))
        refused("kserve.yaml", lambda spec: spec["supportedModelFormats"][0].update(priority="1"))
        refused("kserve.yaml", lambda spec: spec["containers"][0]["readinessProbe"].update(period=5))


class PythonServer(unittest.TestCase):
    def test_a_custom_model(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        model = ROOT / "models" / "embedded" / "digits.onnx"
        command = [sys.executable, "-B", DEPLOY / "kserve_model.py", "--model_name", "digits", "--model", model,
                   "--http_port", str(port), "--enable_grpc", "false"]
        environment = {**os.environ, "PYTHONPATH": os.environ["COLONNADE_PYTHON"]}
        if subprocess.run([sys.executable, "-c", "import colonnade"], env=environment, capture_output=True).returncode != 0:
            self.skipTest("the package colonnade is not built, or sanitized")
        server = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
        try:
            url = f"http://127.0.0.1:{port}/v2/models/digits"
            self.wait_until_ready(server, url + "/ready")
            image = [0.0] * 784
            body = {"inputs": [{"name": "image", "datatype": "FP32", "shape": [1, 1, 28, 28], "data": image}]}
            found, expected = (self.ask(where + "/infer", body) for where in
                               (url, f"http://{os.environ['COLONNADE_HTTP']}/v2/models/digits"))
            self.assertEqual(found["outputs"][0]["shape"], expected["outputs"][0]["shape"])
            for mine, theirs in zip(found["outputs"][0]["data"], expected["outputs"][0]["data"], strict=True):
                self.assertAlmostEqual(mine, theirs, 5)
        finally:
            server.terminate()
            server.wait(60)

    def ask(self, url, body):
        request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def wait_until_ready(self, server, url):
        for _ in range(600):
            self.assertIsNone(server.poll(), "KServe's server has ended")
            try:
                return urllib.request.urlopen(url, timeout=10).close()
            except urllib.error.URLError:
                time.sleep(0.1)
        self.fail("KServe's server is not ready")


if __name__ == "__main__":
    unittest.main()
