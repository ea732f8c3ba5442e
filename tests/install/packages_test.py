# SPDX-License-Identifier: Apache-2.0
"""What makes packages and proves them, as far as that takes no minutes. Argument: the build folder.

The proofs themselves are ./dev wheel, ./dev deb and ./dev image.
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "install"), str(ROOT / "frontends" / "python")]
import minimal  # noqa: E402
import prove  # noqa: E402
import suite  # noqa: E402
import wheel  # noqa: E402

BUILD = pathlib.Path(sys.argv[1])
WHEELS = [pathlib.Path(f"colonnade-0.1.0-{tag}-linux_x86_64.whl") for tag in ("cp310-cp310", "cp311-cp311", "cp312-abi3")]


class PackagesTest(unittest.TestCase):
    def test_each_python_has_its_package(self):
        for version, tag in (("3.10", "cp310"), ("3.11", "cp311"), ("3.12", "cp312"), ("3.14", "cp312")):
            self.assertIn(tag, prove.wheel_for(WHEELS, version).name)
        with self.assertRaisesRegex(minimal.Refused, "no package for Python 3.9"):
            prove.wheel_for(WHEELS, "3.9")

    def test_one_python_makes_the_package_that_several_share(self):
        found = wheel.pythons()
        self.assertLessEqual(sum(version >= wheel.SHARED_FROM for version in found), 1, found)
        for version, python in found.items():
            self.assertEqual(wheel.version_of(python), version)

    def test_readme_has_the_example(self):
        example = prove.readme_example()
        compile(example, "README.md", "exec")
        self.assertIn("models/embedded/digits.onnx", example)

    def test_an_answer_without_a_digit_is_refused(self):
        answer = '{"outputs": [{"name": "probabilities", "datatype": "BYTES", "data": ["0.9:7"]}]}'
        self.assertIn("0.9:7", prove.served(answer))
        with self.assertRaisesRegex(minimal.Refused, "not found"):
            prove.served('{"error": "not found"}')

    def test_debian_packages_are_four(self):
        text = (BUILD / "CPackConfig.cmake").read_text()
        self.assertIn('set(CPACK_COMPONENTS_ALL "command;library;development;onnxruntime")', text)
        unit = (BUILD / "debian" / "colonnade.service").read_text()
        self.assertEqual(re.findall("(?m)^ExecStart=(\\S+) serve", unit), ["/usr/bin/colonnade"])

    def test_systems_run_what_they_are_told(self):
        if reason := minimal.why_not():
            self.skipTest(reason)
        system = minimal.System("bookworm", [])
        system.folder = pathlib.Path("/nowhere")
        command = system.command("true", user="1000:1000", read_only=True)
        self.assertIn("--userspec=1000:1000", command[-3])
        self.assertIn("remount,bind,ro", command[-3])
        with self.assertRaisesRegex(minimal.Refused, "failed"):
            system.run("true")


if __name__ == "__main__":
    suite.main()
