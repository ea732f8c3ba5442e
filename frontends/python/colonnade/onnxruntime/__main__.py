# SPDX-License-Identifier: Apache-2.0
"""Runs a program that was written for ONNX Runtime, as it is."""
import os
import runpy
import sys

from . import install

USAGE = "usage: python -m colonnade.onnxruntime {PROGRAM.py | -m MODULE | -c CODE} [ARGUMENTS]"


def main() -> None:
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help") or (arguments[0] in ("-m", "-c") and len(arguments) == 1):
        print(USAGE, file=sys.stdout if "-h" in arguments[:1] or "--help" in arguments[:1] else sys.stderr)
        sys.exit(0 if arguments[:1] in (["-h"], ["--help"]) else 2)
    install()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
    else:
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
