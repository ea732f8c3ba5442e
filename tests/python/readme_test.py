# SPDX-License-Identifier: Apache-2.0
"""The Python that README.md prints, run exactly as printed, one block after the other."""
import asyncio
import os
import re
import unittest

import support

support.need("colonnade", "numpy")

import numpy as np


class Readme(unittest.TestCase):
    def test_blocks(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", (support.ROOT / "README.md").read_text(), re.S | re.M)
        self.assertEqual(len(blocks), 2)
        os.chdir(support.ROOT)
        names = {"__name__": "__main__"}
        exec(compile(blocks[0], "README.md", "exec"), names)
        expected = names["probabilities"]
        self.assertEqual(expected.shape, (1, 10))
        np.testing.assert_array_equal(names["outputs"]["probabilities"], expected)
        np.testing.assert_array_equal(asyncio.run(names["answer"]())["probabilities"], expected)
        exec(compile(blocks[1], "README.md", "exec"), names)
        np.testing.assert_array_equal(names["results"][0], expected)


if __name__ == "__main__":
    support.main()
