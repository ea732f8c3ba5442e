#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packages from PyPI that run models by ONNX Runtime, as they are: by it and by Colonnade in its place, in turns.

packages.py [NAME...]: prints a table: milliseconds a call by each, the ratio, until the first result, and whether the
results are the same. Fails where they are not. Run by the Python of a virtual environment that has the packages.
"""
import argparse
import importlib.util
import os
import pathlib
import pickle
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ENGINES = ("onnxruntime", "colonnade")
RELATIVE, ABSOLUTE = 1e-3, 1e-3  # the second of the largest number


def difference(one, other, at="result") -> str:
    """Why two results are not the same; empty when they are."""
    import numpy

    if isinstance(one, (list, tuple, dict)) or type(one) is not type(other):
        if type(one) is not type(other) or len(one) != len(other):
            return f"{at}: {type(one).__name__} and {type(other).__name__} of other sizes"
        keys = list(one) if isinstance(one, dict) else range(len(one))
        if isinstance(one, dict) and set(one) != set(other):
            return f"{at}: {sorted(one)} and {sorted(other)}"
        return next(filter(None, (difference(one[key], other[key], f"{at}[{key!r}]") for key in keys)), "")
    if isinstance(one, numpy.ndarray) and one.dtype.kind == "f" or isinstance(one, (float, numpy.floating)):
        a, b = numpy.asarray(one, float), numpy.asarray(other, float)
        if a.shape != b.shape:
            return f"{at}: shapes {a.shape} and {b.shape}"
        scale = numpy.abs(a).max(initial=0)
        if numpy.allclose(a, b, rtol=RELATIVE, atol=ABSOLUTE * scale, equal_nan=True):
            return ""
        return f"{at}: numbers differ by up to {numpy.abs(a - b).max():.3g} of {scale:.3g}"
    same = numpy.array_equal(one, other) if isinstance(one, numpy.ndarray) else one == other
    return "" if same else f"{at}: {str(one)[:60]!r} and {str(other)[:60]!r}"


def measured(name: str, engine: str, folder: str, seconds: float) -> dict:
    out = os.path.join(folder, f"{name}.{engine}.pickle")
    command = [sys.executable, "-B", "-W", "ignore", str(HERE / "worker.py"), name, engine, folder, str(seconds), out]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        raise RuntimeError(f"{name} by {engine}: " + (result.stderr.strip().splitlines() or ["no message"])[-1])
    with open(out, "rb") as file:
        return pickle.load(file)


def row(name: str, rounds: int, seconds: float) -> tuple[str, bool]:
    with tempfile.TemporaryDirectory() as folder:
        runs = {engine: [] for engine in ENGINES}
        for _ in range(rounds):
            for engine in ENGINES:
                runs[engine].append(measured(name, engine, folder, seconds))
    theirs, ours = (statistics.median(run["call"] for run in runs[engine]) for engine in ENGINES)
    first, first_ours = (statistics.median(run["first"] for run in runs[engine]) for engine in ENGINES)
    why = difference(runs["onnxruntime"][0]["result"], runs["colonnade"][0]["result"])
    about = runs["colonnade"][0]["about"]
    numbers = f"{1e3 * theirs:.2f} | {1e3 * ours:.2f} | {theirs / ours:.2f} | {first:.2f} / {first_ours:.2f}"
    return f"| {name} | {about} | {numbers} | {why or 'same'} |", not why


def cases() -> list[str]:
    return sorted(path.stem for path in (HERE / "cases").glob("*.py") if path.stem != "__init__")


def missing(name: str) -> str:
    """A module that a case needs and that is not installed."""
    source = (HERE / "cases" / f"{name}.py").read_text()
    needs = next(line.split("=", 1)[1] for line in source.splitlines() if line.startswith("NEEDS"))
    return next((need for need in eval(needs) if importlib.util.find_spec(need) is None), "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases: " + ", ".join(cases()))
    parser.add_argument("--rounds", type=int, default=3, help="processes of each engine")
    parser.add_argument("--seconds", type=float, default=2, help="how long each repeats its call")
    options = parser.parse_args()
    print("| package | what it does | ms, ONNX Runtime | ms, Colonnade | ratio | first result, s | results |")
    print("|---|---|---:|---:|---:|---:|---|")
    failed = False
    for name in options.names or cases():
        lacks = missing(name)
        if lacks:
            print(f"| {name} | skipped: module {lacks} is not installed | | | | | |", flush=True)
            continue
        try:
            text, same = row(name, options.rounds, options.seconds)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            text, same = f"| {name} | failed: {str(error)[:200]} | | | | | |", False
        print(text, flush=True)
        failed = failed or not same
    return failed


if __name__ == "__main__":
    sys.exit(main())
