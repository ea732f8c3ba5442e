#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves what is delivered where nothing else is installed: prove.py wheel|deb|image FILES. Prints what it saw, with figures."""
from __future__ import annotations

import pathlib
import re
import shutil
import socket
import sys

from minimal import ROOT, Refused, System, output_of, why_not

NAMES = {"bookworm": "Debian 12", "trixie": "Debian 13"}
MOST_IMPORT_MS = 60
# Processor time, which other programs on this machine change little.
IMPORT = "import time, numpy; start = time.process_time(); import colonnade; print(1000 * (time.process_time() - start))"
RUNS = "colonnade --version; colonnade bench embedded:mobilenet --duration 0.2"
# What a Python that was not installed by a package links.
LINKED_BY_PYTHON = ["libbz2-1.0", "libffi8", "liblzma5", "libssl3", "zlib1g"]
# When it is ready, one digit is asked for, as in README; prints the answer.
# The version of the C interface that the package brings, asked for as programs in C do.
C_INTERFACE = """
import ctypes, glob
library = ctypes.CDLL(glob.glob("/venv/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.1.*")[0])
library.OrtGetApiBase.restype = ctypes.POINTER(ctypes.CFUNCTYPE(ctypes.c_char_p) * 2)
print(library.OrtGetApiBase().contents[1]().decode(), library._name)
"""
SERVES = r"""
ask() {
  exec 3<> /dev/tcp/127.0.0.1/$port
  printf '%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' "$1" "$2" ${#3} "$3" >&3
  cat <&3
}
colonnade serve embedded:digits --http-port=$port --grpc-port=$((port + 1)) --metrics-port=$((port + 2)) > $log 2>&1 & server=$!
for attempt in $(seq 200); do
  answer=$( (ask GET /v2/health/ready "") 2> /dev/null) || true
  [[ $answer != "HTTP/1.1 200 "* ]] || break
  sleep 0.1
done
answer=$(ask POST /v2/models/digits/infer "{
  \"inputs\": [{\"name\": \"image\", \"datatype\": \"FP32\", \"shape\": [1, 1, 28, 28], \"data\": [$(seq -s, 784)]}],
  \"outputs\": [{\"name\": \"probabilities\", \"parameters\": {\"classification\": 1}}]}")
kill $server
wait $server
[[ $answer == "HTTP/1.1 200 "* ]] || { echo "$answer"; cat $log; exit 1; }
tail -n 1 <<< "$answer"
"""


def serves(log: str = "/tmp/served") -> str:
    """The script, with three ports that nobody has."""
    for first in range(18000, 19000, 3):
        try:
            for port in range(first, first + 3):
                socket.create_server(("127.0.0.1", port)).close()
            return f"port={first} log={log}\n{SERVES}"
        except OSError:
            continue
    raise Refused("no free ports")


def told(words: str, answer: str) -> None:
    """Prints the first line of what was seen."""
    print(f"  {words}: {answer.strip().splitlines()[0][:150]}", flush=True)


def served(answer: str) -> str:
    """The class in the server's answer."""
    found = re.search(r'"data": ?\["([^"]+)"\]', answer)
    if not found:
        raise Refused(f"the server answered {answer[:300]}")
    return f"digit and probability {found[1]}"


def readme_example() -> str:
    """The first program in Python that README prints."""
    text = (ROOT / "README.md").read_text()
    return re.search(r"## In Python\n.*?```python\n(.*?)```", text, re.S)[1]


def wheel_for(wheels: list[pathlib.Path], version: str) -> pathlib.Path:
    """The one for this Python: of its own, or the shared one."""
    tag = f"cp{version.replace('.', '')}"
    own = [wheel for wheel in wheels if f"-{tag}-{tag}-" in wheel.name]
    shared = [wheel for wheel in wheels if "-abi3-" in wheel.name and tuple(map(int, version.split("."))) >= (3, 12)]
    if not own and not shared:
        raise Refused(f"no package for Python {version} among {', '.join(wheel.name for wheel in wheels)}")
    return (own or shared)[0]


def without_packages(folder: str, names: list[str]) -> list[str]:
    """For shutil.copytree: what a Python's folder need not bring along."""
    return [name for name in names if name in ("site-packages", "test", "tests", "__pycache__", "share") or name.endswith(".a")]


def bring_along(python: pathlib.Path, system: System) -> None:
    """A Python of this machine, to the same place in the system, without what was installed for it."""
    base = output_of([python, "-c", "import sys; print(sys.base_prefix)"]).strip()
    shutil.copytree(base, system.folder / base.lstrip("/"), symlinks=True, ignore=without_packages)


def prove_wheel(suite: str, wheels: list[pathlib.Path], python: pathlib.Path | None = None) -> None:
    """pip install, README's example, the command, the server, and the module onnxruntime, in turn."""
    with System(suite, LINKED_BY_PYTHON if python else ["python3-venv"]) as system:
        if python:
            bring_along(python, system)
        name = str(python or "python3")
        version = system.run(f"{name} -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'").strip()
        work = system.folder / "work"
        (work / "models").mkdir(parents=True)
        shutil.copytree(ROOT / "models" / "embedded", work / "models" / "embedded")
        wheel = wheel_for(wheels, version)
        numpy = ["--only-binary=:all:", "--python-version", version, "--dest", work, "numpy"]
        output_of([sys.executable, "-m", "pip", "download", "-q", "--no-deps", *numpy])
        for file in (wheel, *(wheel for wheel in wheels if wheel.name.startswith("colonnade_onnxruntime"))):
            shutil.copy(file, work)
        (work / "example.py").write_text(readme_example())
        system.run(f"{name} -m venv /venv && /venv/bin/pip install -q --no-index --find-links /work colonnade")
        inside = "PATH=/venv/bin:$PATH; cd /work; "
        print(f"{NAMES[suite]}, Python {version}{' brought along' if python else ''}: {wheel.name}, "
              f"{wheel.stat().st_size / 1e6:.1f} MB", flush=True)
        told("README's example", system.run(inside + "python example.py"))
        times = [float(system.run(inside + f"python -c '{IMPORT}'")) for _ in range(7)]
        print(f"  import colonnade: {min(times):.0f} ms of processor time, after numpy")
        told("command", system.run(inside + RUNS))
        print("  server:", served(system.run(inside + serves())))
        system.run("/venv/bin/pip install -q --no-index --find-links /work colonnade-onnxruntime")
        told("onnxruntime", system.run(inside + "python -c 'import onnxruntime; print(onnxruntime.__version__, onnxruntime.__file__)'"))
        told("its C interface", system.run(inside + f"python -c '{C_INTERFACE}'"))
        if min(times) > MOST_IMPORT_MS:
            raise Refused(f"import takes {min(times):.0f} ms, not {MOST_IMPORT_MS}")


def prove_wheels(files: list[pathlib.Path]) -> None:
    """In Debian 12 and 13, and with the Python that each other package was built by (FILES ends with such)."""
    wheels = [file for file in files if file.suffix == ".whl"]
    for suite in NAMES:
        prove_wheel(suite, wheels)
    for python in files:
        if python.suffix != ".whl":
            prove_wheel("bookworm", wheels, python)


def files_of(system: System) -> set[str]:
    """All that may not change by a package that came and went; what dpkg and apt note by themselves is left out."""
    noted = ("var/lib/dpkg", "var/lib/apt", "var/cache", "var/log", "etc/ld.so.cache", "proc", "sys", "dev", "tmp", "packages")
    paths = (path.relative_to(system.folder).as_posix() for path in system.folder.rglob("*"))
    return {path for path in paths if not path.startswith(noted)}


def add_network(system: System) -> None:
    """apt's own way to Debian's packages, as this machine has it."""
    for name in ("etc/resolv.conf", "etc/hosts"):
        shutil.copy(f"/{name}", system.folder / name)
    for file in pathlib.Path("/etc/apt/apt.conf.d").glob("*proxy*"):
        shutil.copy(file, system.folder / "etc" / "apt" / "apt.conf.d")


def prove_programs(system: System) -> None:
    """A program outside is compiled with the development package, by pkg-config and by CMake."""
    shutil.copytree(ROOT / "tests" / "install" / "consumer", system.folder / "tmp" / "consumer")
    cmake = "cmake -S . -B build > /dev/null && cmake --build build > /dev/null && build/consumer"
    for words, script in {"by pkg-config": "c++ -std=c++20 main.cpp -o program $(pkg-config --cflags --libs colonnade) && ./program",
                          "by CMake": cmake}.items():
        told(f"a program {words}", system.run(f"cd /tmp/consumer; {script}"))


def prove_debs(packages: list[pathlib.Path]) -> None:
    """They are installed with what they depend on, run, and leave nothing when they go."""
    with System("bookworm", []) as system:
        add_network(system)
        (system.folder / "packages").mkdir()
        for package in packages:
            shutil.copy(package, system.folder / "packages")
        apt = "DEBIAN_FRONTEND=noninteractive apt-get"
        system.run("apt-get update -q")
        before = files_of(system)
        system.run(f"{apt} install -qy --no-install-recommends /packages/colonnade*.deb /packages/libcolonnade0_*.deb")
        print("Debian 12: " + ", ".join(f"{package.name} {package.stat().st_size / 1e6:.1f} MB" for package in packages), flush=True)
        told("command", system.run(RUNS))
        print("  server:", served(system.run(serves())))
        told("unit", system.run("ls /lib/systemd/system/colonnade.service"))
        told("ONNX Runtime's library", system.run("ls /usr/lib/colonnade/libonnxruntime.so.1"))
        system.run(f"{apt} install -qy --no-install-recommends /packages/libcolonnade-dev_*.deb g++ pkg-config cmake make")
        prove_programs(system)
        system.run(f"{apt} purge -qy colonnade colonnade-onnxruntime libcolonnade0 libcolonnade-dev && {apt} autoremove -qy --purge")
        left = sorted(path for path in files_of(system) - before if "colonnade" in path)
        if left or "colonnade" in system.run("dpkg-query -W"):
            raise Refused(f"packages that were purged left {', '.join(left[:5]) or 'a note in dpkg'}")
        print("  purged: nothing of them is left")


def prove_image(programs: list[pathlib.Path]) -> None:
    """What frontends/server/deploy/Dockerfile describes, made without a daemon: its packages, its program, its user."""
    text = (ROOT / "frontends" / "server" / "deploy" / "Dockerfile").read_text()
    listed = re.search(r"FROM debian:12-slim.*?recommends \\\n(.*?)\\\n  &&", text, re.S)[1].replace("\\", "").split()
    user = re.search(r"(?m)^USER (\S+)$", text)[1]
    with System("bookworm", listed) as system:
        output_of(["install", "-m755", "-s", programs[0], system.folder / "usr" / "local" / "bin" / "colonnade"])
        print(f"image on Debian 12: {system.size_mb():.0f} MB, run by {user}, its root read-only")
        refused = system.run("touch /x 2>&1 || true", user=user, read_only=True).strip()
        print("  writing:", refused)
        print("  server:", served(system.run(serves("/dev/null"), user=user, read_only=True)))
        if "Read-only" not in refused:
            raise Refused("the root can be written")


PROOFS = {"wheel": prove_wheels, "deb": prove_debs, "image": prove_image}


def main() -> int:
    kind, *files = sys.argv[1:] or [""]
    if kind not in PROOFS or not files:
        print(f"prove: {'|'.join(PROOFS)} FILES", file=sys.stderr)
        return 2
    if reason := why_not():
        print(f"prove: skipped: {reason}")
        return 77
    try:
        PROOFS[kind]([pathlib.Path(file).absolute() for file in files])
        return 0
    except Refused as error:
        print(f"prove: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
