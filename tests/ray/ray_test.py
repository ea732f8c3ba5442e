# SPDX-License-Identifier: Apache-2.0
"""colonnade.ray on two nodes of Ray on this machine.

Usage: ray_test.py PACKAGES FOLDER: where the package colonnade is, and below which the virtual environment with Ray is
made when there is none. Exits with 77 when these cannot be had."""
import concurrent.futures
import contextlib
import io
import logging
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "server"), str(HERE.parent / "support")]
import clients_test  # noqa: E402
import suite  # noqa: E402

clients_test.ENVIRONMENTS["venv-ray"] = ["ray[serve]==2.60.0", "numpy"]

if "COLONNADE_RAY" not in os.environ:  # go on with the environment's Python
    packages, folder = map(pathlib.Path, sys.argv[1:])
    python = clients_test.python_with(folder, "venv-ray")
    if python is None:
        suite.skip("Ray cannot be had")
    sites = next(python.parent.parent.glob("lib/python*/site-packages"))
    found = {**os.environ, "COLONNADE_RAY": "1", "PYTHONPATH": f"{packages}:{sites}"}
    if subprocess.run([python, "-c", "import colonnade"], env=found, capture_output=True).returncode != 0:
        suite.skip("the package colonnade is not built, or sanitized")
    sys.exit(subprocess.run([python, "-B", __file__], env=found, stdin=subprocess.DEVNULL).returncode)

os.environ["RAY_worker_niceness"] = "0"  # of 15, replicas starve while other tests compute
os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"  # threads of Ray Serve would connect again at the end
import numpy as np  # noqa: E402
import ray  # noqa: E402
from ray import serve  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

import colonnade  # noqa: E402
import colonnade.ray  # noqa: E402
from colonnade import _cores  # noqa: E402

EMBEDDED = HERE.parents[1] / "models" / "embedded"
MODELS = {"mobilenet": EMBEDDED / "mobilenet.onnx", "again": EMBEDDED / "mobilenet.onnx"}
PROCESSORS = os.sched_getaffinity(0)
LIMIT = 300  # seconds until the test gives up; a machine may be busy


def replicas():
    return [entry["name"] for entry in ray.util.list_named_actors(all_namespaces=True)
            if entry["namespace"] == "serve" and entry["name"].startswith("SERVE_REPLICA::")]


def processors_of_replicas():
    """By process, where all its threads may run."""
    found = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cmdline").read_bytes().startswith(b"ray::ServeReplica:"):
                threads = [frozenset(os.sched_getaffinity(int(task.name))) for task in (process / "task").iterdir()]
                found[int(process.name)] = set(threads)
    return found


def nodes():
    """Processors of NUMA nodes."""
    found = {}
    for core in _cores.of_machine():
        found[core.node] = found.get(core.node, frozenset()).union(core.processors)
    return found


class RayTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
        cls.cluster.add_node(num_cpus=2)
        ray.init(address=cls.cluster.address, runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"]}},
                 log_to_driver=False)
        session = colonnade.Session(str(MODELS["mobilenet"]))
        random = np.random.default_rng(1)
        cls.images = [random.random((1, 3, 224, 224), np.float32) for _ in range(8)]
        cls.expected = [session.run({"image": image}) for image in cls.images]

    @classmethod
    def tearDownClass(cls):
        logging.getLogger("ray.serve").setLevel(logging.CRITICAL)  # of threads that find Ray gone
        serve.shutdown()
        ray.shutdown()
        cls.cluster.shutdown()

    def run_application(self, name, **arguments):
        self.wait_until(lambda: not processors_of_replicas(), "replicas of tests before are gone, and their cores free")
        handle = serve.run(colonnade.ray.application(MODELS, **arguments), name=name, route_prefix="/" + name)
        self.addCleanup(serve.delete, name)
        return handle

    def ask(self, handle, i, model="", **arguments):
        answer = colonnade.ray.ask(handle, {"image": self.images[i % 8]}, model, timeout=LIMIT, **arguments)
        self.assertEqual(set(answer), set(self.expected[i % 8]))
        for name, array in self.expected[i % 8].items():
            np.testing.assert_array_equal(answer[name], array)

    def wait_until(self, holds, what):
        """What is to come true soon, however busy the machine is."""
        end = time.monotonic() + LIMIT
        while not holds():
            self.assertLess(time.monotonic(), end, f"{what}: found {len(replicas())} replicas, {serve.status()}")
            time.sleep(0.1)

    @contextlib.contextmanager
    def load(self, handle, clients):
        """So many clients that ask again as soon as they were answered."""
        end = threading.Event()

        def work(client):
            count = 0
            while not end.is_set():
                self.ask(handle, count := count + 1, ["", "mobilenet", "again"][client % 3])
            return count

        with concurrent.futures.ThreadPoolExecutor(clients) as threads:
            working = [threads.submit(work, client) for client in range(clients)]
            try:
                yield working
            finally:
                end.set()
        self.assertGreater(min(done.result() for done in working), 0)

    def test_a_replica_dies_under_load(self):
        clients = 8
        handle = self.run_application("steady", replicas=(2, 2))
        self.assertEqual(len(replicas()), 2)
        self.assertEqual(len({node["NodeID"] for node in ray.nodes() if node["Alive"]}), 2)
        with self.assertLogs("colonnade.ray", logging.INFO) as log, self.load(handle, clients):
            for _ in range(3):
                self.wait_until(lambda: len(replicas()) == 2, "two replicas")
                time.sleep(1)
                before = replicas()
                ray.kill(ray.get_actor(before[0], namespace="serve"))
                self.wait_until(lambda: before[0] not in replicas(), "the killed one is gone")
        self.assertLessEqual(len(log.records), 3 * clients, "asked again where no replica had died")
        with self.assertRaisesRegex(Exception, "no model 'nobody'"):
            colonnade.ray.ask(handle, {"image": self.images[0]}, "nobody", timeout=LIMIT)

    def test_replicas_follow_what_waits(self):
        fast = {"upscale_delay_s": 0, "downscale_delay_s": 1, "metrics_interval_s": 0.2, "look_back_period_s": 1}
        handle = self.run_application("scaled", replicas=(1, 3), waiting=1, autoscaling=fast)
        self.assertEqual(len(replicas()), 1)
        with self.load(handle, 16):
            self.wait_until(lambda: len(replicas()) >= 2, "more replicas for 16 clients")
        self.wait_until(lambda: len(replicas()) == 1, "fewer replicas without clients")

    def test_the_example_of_the_documents(self):
        text = (HERE.parents[1] / "docs" / "serve.md").read_text()
        example = next(part for part in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "colonnade.ray" in part)
        for written, here in [("/models/net", str(EMBEDDED / "mobilenet")), ("/models/digits", str(EMBEDDED / "digits")),
                              ("cores=4", "cores=1")]:
            self.assertIn(written, example)
            example = example.replace(written, here)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(example, {})
        self.addCleanup(serve.delete, "default")
        session = colonnade.Session(str(EMBEDDED / "digits.onnx"))
        expected = session.run({"image": np.zeros((1, 1, 28, 28), np.float32)})["probabilities"].argmax()
        self.assertEqual(printed.getvalue().split(), [str(expected)])

    def test_replicas_have_cores_of_their_own(self):
        if len(PROCESSORS) < 2 or colonnade.describe_machine()["cpu_quota"] > 0:
            self.skipTest("needs two cores without a quota")
        handle = self.run_application("kept", replicas=(2, 2))
        self.ask(handle, 0)
        first, second = processors_of_replicas().values()
        self.assertEqual((len(first), len(second)), (1, 1), "all threads of a replica may run at the same places")
        self.assertTrue(first.pop().isdisjoint(second.pop()))

    def test_a_replica_has_a_node(self):
        handle = self.run_application("node", cores="node", replicas=(1, 1))
        self.ask(handle, 0)
        self.ask(handle, 1, "again")
        (places,) = processors_of_replicas().values()
        node = max(nodes().values(), key=len)
        self.assertIn(node, places)
        for place in places:  # a worker of the engine leaves its caller's processor
            self.assertLessEqual(place, node)


if __name__ == "__main__":
    suite.main()
