# SPDX-License-Identifier: Apache-2.0
"""The console script `colonnade`: becomes the program that lies in the package, without importing the package itself."""
import importlib.util
import os
import pathlib
import sys


def main() -> None:
    package = importlib.util.find_spec("colonnade")
    program = pathlib.Path(package.origin).parent / "bin" / "colonnade" if package and package.origin else None
    if program is None or not program.exists():
        sys.exit("colonnade: error: this package was built without the command")
    os.execv(program, ["colonnade", *sys.argv[1:]])
