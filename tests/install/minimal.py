# SPDX-License-Identifier: Apache-2.0
"""Minimal systems of Debian, made by mmdebstrap and kept as archives in build/systems; each is unpacked for one use."""
from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "systems"


class Refused(Exception):
    """What cannot be proved here, or was proved wrong; the message is for the user."""


def output_of(command: list, **options) -> str:
    """What a command prints; a failure shows its end."""
    words = [str(word) for word in command]
    result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            **options)
    if result.returncode != 0:
        raise Refused(f"{' '.join(words)[:300]} failed ({result.returncode}):\n" + result.stdout[-4000:])
    return result.stdout


def why_not() -> str | None:
    """Why no system can be made here; None where it can."""
    if os.getuid() != 0:
        return "minimal systems need root"
    missing = [tool for tool in ("mmdebstrap", "unshare", "chroot") if shutil.which(tool) is None]
    return f"minimal systems need {', '.join(missing)}" if missing else None


class System:
    """A system in a folder of its own, gone when left. Commands run in it as root, or as nobody with nothing to write."""

    def __init__(self, suite: str, packages: list[str]):
        self.suite, self.packages = suite, packages

    def archive(self) -> pathlib.Path:
        KEPT.mkdir(parents=True, exist_ok=True)
        kept = KEPT / f"{self.suite}-{hashlib.sha256(' '.join(self.packages).encode()).hexdigest()[:12]}.tar"
        if not kept.exists():
            partial = kept.with_suffix(".partial.tar")
            include = [f"--include={','.join(self.packages)}"] if self.packages else []
            output_of(["mmdebstrap", "--variant=minbase", *include, self.suite, partial])
            partial.rename(kept)
        return kept

    def __enter__(self) -> "System":
        archive = self.archive()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"colonnade-{self.suite}-"))
        output_of(["tar", "--numeric-owner", "-xpf", archive, "-C", self.folder])
        self.folder.chmod(0o755)
        return self

    def __exit__(self, *_) -> None:
        shutil.rmtree(self.folder)

    def command(self, script: str, user: str = "root", read_only: bool = False) -> list[str]:
        """For subprocess: the script by bash within the system, which has /proc, /sys and /dev while it runs."""
        folder = str(self.folder)
        mounts = [f"mount --bind {folder} {folder}"]
        mounts += [f"mount --rbind /{name} {folder}/{name}" for name in ("proc", "sys", "dev")]
        if read_only:
            mounts.append(f"mount -o remount,bind,ro {folder}")
        as_user = "" if user == "root" else f" --userspec={user}"
        enter = f"exec chroot{as_user} {folder} /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/ " \
                'LC_ALL=C.UTF-8 bash -euc "$1"'
        return ["unshare", "--mount", "--propagation=private", "sh", "-euc", "; ".join([*mounts, enter]), "sh", script]

    def run(self, script: str, **options) -> str:
        return output_of(self.command(script, **options))

    def size_mb(self) -> float:
        """What its files take."""
        return int(output_of(["du", "-sxk", self.folder]).split()[0]) / 1000
