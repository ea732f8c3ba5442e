# SPDX-License-Identifier: Apache-2.0
"""What can be checked of frontends/server/deploy without Docker and Kubernetes: the program runs with exactly the
arguments written there, but for ports and the folder of models, under another user than root and without a folder to
write to. Arguments: the colonnade program."""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import serving  # noqa: E402
import suite  # noqa: E402
import tiny_onnx  # noqa: E402

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "frontends" / "server" / "deploy"
USER = 65534  # nobody
BASE = {"libc6", "libgcc-s1", "libstdc++6"}  # of any Debian image


def manifest():
    try:
        import yaml
    except ImportError:
        raise unittest.SkipTest("no PyYAML here")
    return yaml.safe_load((DEPLOY / "kserve.yaml").read_text())


def kustomized():
    """kind -> what kubectl apply -k makes of it, but for the labels and the tag of the image."""
    try:
        import yaml
    except ImportError:
        raise unittest.SkipTest("no PyYAML here")
    folder = DEPLOY / "kustomize"
    names = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    parts = [yaml.safe_load((folder / name).read_text()) for name in names]
    return {part["kind"]: part for part in parts}


def sections(text):
    """key -> values of a systemd unit."""
    found = {}
    for line in text.splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            found.setdefault(key, []).append(value)
    return found


class DeployTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="colonnade-deploy-"))
        cls.folder.chmod(0o755)
        cls.models = cls.folder / "models"
        (cls.models / "relu" / "1").mkdir(parents=True)
        (cls.models / "relu" / "1" / "model.onnx").write_bytes(tiny_onnx.unary("Relu", ["n", 3]))
        cls.program = cls.folder / "colonnade"  # where every user may read it
        shutil.copy(sys.argv[1], cls.program)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def serves(self, arguments, models):
        self.assertEqual(arguments[0], "serve")
        self.assertTrue(any(word.endswith(models) for word in arguments))
        given = [re.sub(r"(--(?:http|grpc|metrics)-port=)\d+", r"\g<1>0", word).replace(models, str(self.models))
                 for word in arguments[1:]]
        if not any(word.startswith("--http-port") for word in given):
            given += ["--http-port=0", "--grpc-port=0", "--metrics-port=0"]
        other = {"user": USER, "group": USER, "extra_groups": []} if os.getuid() == 0 else {}
        server = serving.Server(self.program, *given, cwd="/", env={"PATH": os.environ["PATH"]}, **other)
        self.assertEqual(server.stop(), 0, "".join(server.log))

    def test_dockerfile(self):
        text = (DEPLOY / "Dockerfile").read_text()
        self.assertRegex(text, r"(?m)^USER 1000:1000$")
        entry, command = (re.search(rf"(?m)^{word} \[(.*)\]$", text)[1].replace('"', "").split(", ")
                          for word in ("ENTRYPOINT", "CMD"))
        self.assertEqual(entry, ["colonnade"])
        self.serves(command, "/models")

    def test_dockerfile_checks_health(self):
        text = (DEPLOY / "Dockerfile").read_text()
        command = json.loads(re.search(r"(?ms)^HEALTHCHECK .*?CMD (\[.*?\])$", text)[1].replace("\\\n", ""))
        server = serving.Server(self.program, self.models, "--http-port=0", "--grpc-port=0", "--metrics-port=0")
        port = server.url.rsplit(":", 1)[1]
        command[-1] = command[-1].replace("127.0.0.1/8000", f"127.0.0.1/{port}")
        self.assertIn(port, command[-1])
        self.assertEqual(subprocess.run(command, timeout=20).returncode, 0)
        wrong = [*command[:-1], command[-1].replace("/health/live", "/health/none")]
        self.assertNotEqual(subprocess.run(wrong, timeout=20).returncode, 0)
        server.stop()
        self.assertNotEqual(subprocess.run(command, timeout=20, stderr=subprocess.DEVNULL).returncode, 0)

    def test_dockerfile_installs_what_the_program_loads(self):
        if not shutil.which("dpkg-query") or not shutil.which("readelf") or "VERSION_ID=\"12\"" not in pathlib.Path(
                "/etc/os-release").read_text():
            self.skipTest("not Debian 12")
        text = (DEPLOY / "Dockerfile").read_text()
        listed = re.search(r"FROM debian:12-slim.*?recommends \\\n(.*?)\\\n  &&", text, re.S)[1]
        installed = set(listed.replace("\\", "").split())
        needed = re.findall(r"NEEDED.*\[(.*)\]", subprocess.check_output(["readelf", "-d", self.program], text=True))
        if any(library.startswith(("libasan", "libtsan")) for library in needed):
            self.skipTest("a sanitized program loads more")
        paths = dict(re.findall(r"(\S+) => (\S+)", subprocess.check_output(["ldd", self.program], text=True)))
        packages = set()
        for library in needed:
            path = pathlib.Path(paths.get(library, "/nowhere")).resolve()
            for place in (str(path), str(path).removeprefix("/usr")):
                found = subprocess.run(["dpkg-query", "-S", place], capture_output=True, text=True).stdout
                packages |= {found.split(":")[0]} if found else set()
        self.assertIn("libprotobuf32", packages)
        self.assertEqual(packages - installed - BASE, set())

    def test_kserve(self):
        root = manifest()
        self.assertEqual((root["apiVersion"], root["kind"]), ("serving.kserve.io/v1alpha1", "ClusterServingRuntime"))
        spec = root["spec"]
        self.assertEqual(spec["supportedModelFormats"][0]["name"], "onnx")
        self.assertEqual(spec["protocolVersions"], ["v2", "grpc-v2"])
        container = spec["containers"][0]
        self.assertEqual(container["name"], "kserve-container")
        self.assertIn(f"--metrics-port={spec['annotations']['prometheus.kserve.io/port']}", container["args"])
        for probe in ("readinessProbe", "livenessProbe"):
            self.assertIn(f"--http-port={container[probe]['httpGet']['port']}", container["args"])
        security = container["securityContext"]
        self.assertTrue(security["runAsNonRoot"] and security["readOnlyRootFilesystem"])
        self.assertFalse(security["allowPrivilegeEscalation"])
        # KServe puts the service's name there.
        self.serves([word.replace("{{.Name}}", "digits") for word in container["args"]], "/mnt/models")

    def test_kustomize(self):
        parts = kustomized()
        pod = parts["Deployment"]["spec"]["template"]
        labels, container = pod["metadata"]["labels"], pod["spec"]["containers"][0]
        for kind, selector in (("Deployment", parts["Deployment"]["spec"]["selector"]["matchLabels"]),
                               ("PodDisruptionBudget", parts["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"]),
                               ("Service", parts["Service"]["spec"]["selector"])):
            self.assertLessEqual(selector.items(), labels.items(), kind)
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        for name, port in ports.items():
            self.assertIn(f"--{name}-port={port}", container["args"])
        for port in parts["Service"]["spec"]["ports"]:
            self.assertIn(port["targetPort"], ports)
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            self.assertIn(container[probe]["httpGet"]["port"], ports)
        self.assertEqual(pod["metadata"]["annotations"]["prometheus.io/port"], str(ports["metrics"]))
        scaler = parts["HorizontalPodAutoscaler"]["spec"]
        self.assertEqual(scaler["scaleTargetRef"]["name"], parts["Deployment"]["metadata"]["name"])
        metric = scaler["metrics"][0]["pods"]["metric"]["name"]
        server = serving.Server(self.program, self.models, "--http-port=0", "--grpc-port=0", "--metrics-port=0")
        metrics = urllib.request.urlopen(server.url + "/metrics", timeout=10).read().decode()
        server.stop()
        self.assertRegex(metrics, rf"(?m)^{metric}{{")
        self.serves(container["args"], "/models")

    def test_systemd_unit(self):
        text = (DEPLOY / "colonnade.service").read_text()
        unit = sections(text)
        self.assertEqual(unit["DynamicUser"], ["yes"])
        program, *arguments = shlex.split(unit["ExecStart"][0])
        self.serves(arguments, "/var/lib/colonnade/models")
        if shutil.which("systemd-analyze"):
            copy = self.folder / "colonnade.service"
            copy.write_text(text.replace(program, str(self.program)))
            verified = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True)
            self.assertEqual((verified.returncode, verified.stderr), (0, ""))


if __name__ == "__main__":
    suite.main()
