# SPDX-License-Identifier: Apache-2.0
"""A worker process: pinned, stopped between commands, given up when it is silent for too long."""
from __future__ import annotations

import ctypes
import json
import os
import pathlib
import select
import signal
import subprocess
import time


class EngineFailed(Exception):
    """An engine refused, crashed or went silent."""


def die_with_parent() -> None:
    """A stopped worker must not outlive a controller that was killed."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


TICK = os.sysconf("SC_CLK_TCK")


def busy_seconds(cores: list[int]) -> float:
    """What these processors have worked since the machine started."""
    names = {f"cpu{core}" for core in cores}
    lines = [line.split() for line in pathlib.Path("/proc/stat").read_text().splitlines()]
    # user, nice, system, (idle, iowait,) irq, softirq, steal
    return sum(sum(map(int, line[1:4])) + sum(map(int, line[6:9])) for line in lines if line[0] in names) / TICK


class Process:
    """A worker, stopped except while it answers a command."""

    def __init__(self, command: list[str], cores: list[int], timeout: float, log: pathlib.Path):
        self.timeout = timeout
        self.log = log
        self.cores = cores
        self.lost = False  # died or went silent: whoever asks again needs another one
        self.others: list[float] = []  # share of the cores that other processes took, a number a measured command

        def prepare() -> None:
            die_with_parent()
            os.sched_setaffinity(0, cores)

        with open(log, "w") as errors:
            self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, bufsize=0,
                                          start_new_session=True, preexec_fn=prepare)
        self.pending = b""

    def ask(self, command: str) -> dict:
        """Wakes the worker for one command."""
        self.signal(signal.SIGCONT)
        try:
            self.child.stdin.write(command.encode() + b"\n")
            reply = json.loads(self.read_line())
        except (OSError, ValueError) as error:
            raise EngineFailed(f"no answer to {command}: {error}") from error
        finally:
            self.signal(signal.SIGSTOP)
        if "error" in reply:
            raise EngineFailed(" ".join(reply["error"].split())[:300])
        return reply

    def ask_watched(self, command: str) -> dict:
        """Like ask, and remembers how much of the cores others took meanwhile."""
        start, busy, own = time.monotonic(), busy_seconds(self.cores), self.cpu_seconds()
        reply = self.ask(command)
        elapsed = time.monotonic() - start
        taken = (busy_seconds(self.cores) - busy) - (self.cpu_seconds() - own)
        self.others.append(max(0.0, taken / (elapsed * len(self.cores))))
        return reply

    def cpu_seconds(self) -> float:
        """What the worker has computed so far, all its threads."""
        try:
            fields = pathlib.Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / TICK

    def read_line(self) -> bytes:
        limit = time.monotonic() + self.timeout
        while b"\n" not in self.pending:
            ready, _, _ = select.select([self.child.stdout], [], [], max(0.0, limit - time.monotonic()))
            if not ready:
                self.lost = True
                raise EngineFailed(f"silent for {self.timeout:g} s")
            part = os.read(self.child.stdout.fileno(), 1 << 16)
            if not part:
                self.lost = True
                raise EngineFailed(f"died with status {self.child.wait()}: {self.last_words()}")
            self.pending += part
        line, _, self.pending = self.pending.partition(b"\n")
        return line

    def last_words(self) -> str:
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return lines[-1][:300] if lines else "no message"

    def signal(self, number: int) -> None:
        try:
            os.killpg(self.child.pid, number)
        except ProcessLookupError:
            pass

    def end(self) -> None:
        self.signal(signal.SIGKILL)
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()
