# SPDX-License-Identifier: Apache-2.0
"""The tool that runs packages from PyPI: how it compares, what it says of cases that cannot be run."""
import sys
import unittest

import support

support.need("numpy")
sys.path.insert(0, str(support.ROOT / "bench" / "packages"))

import numpy as np  # noqa: E402
import packages  # noqa: E402


class Tool(unittest.TestCase):
    def test_difference(self):
        same = ({"a": [1.0, "x", np.ones(3, np.float32)]}, {"a": [1.0 + 1e-6, "x", np.ones(3, np.float32) * 1.0001]})
        self.assertEqual(packages.difference(*same), "")
        for one, other in (
            ([1], [1, 2]),
            (["a"], ["b"]),
            (1.0, 1.1),
            (np.ones(3), np.ones(4)),
            (np.ones(3), np.array([1, 1, 1.1])),
            (np.array([1, 2]), np.array([1, 3])),
            ({"a": 1}, {"b": 1}),
            (1, "1"),
            (np.ones(2), np.array([1, np.nan])),
        ):
            self.assertNotEqual(packages.difference(one, other), "", (one, other))

    def test_cases(self):
        self.assertGreaterEqual(len(packages.cases()), 12)
        for name in packages.cases():
            source = (packages.HERE / "cases" / f"{name}.py").read_text()
            for word in ("ABOUT = ", "NEEDS = ", "def prepare("):
                self.assertIn(word, source, name)

    def test_what_is_missing(self):
        known = {name: packages.missing(name) for name in packages.cases()}
        self.assertEqual(set(known), set(packages.cases()))


if __name__ == "__main__":
    support.main()
