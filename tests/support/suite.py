# SPDX-License-Identifier: Apache-2.0
"""How a file of tests in Python ends: its exit status tells CTest what unittest found."""
from __future__ import annotations

import sys
import unittest

SKIPPED = 77  # tests/CMakeLists.txt says so to CTest


def main() -> None:
    """Runs the tests of the program. Exit status 1: one failed, or there is none; 77: one was skipped; 0: all passed."""
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}")
    if not result.wasSuccessful() or not (result.testsRun or result.skipped):
        sys.exit(1)
    sys.exit(SKIPPED if result.skipped else 0)


def skip(reason: object) -> None:
    """Ends the program as skipped."""
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)
