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


class Process:
    """A worker, stopped except while it answers a command."""

    def __init__(self, command: list[str], cores: list[int], timeout: float, log: pathlib.Path):
        self.timeout = timeout
        self.log = log

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

    def read_line(self) -> bytes:
        limit = time.monotonic() + self.timeout
        while b"\n" not in self.pending:
            ready, _, _ = select.select([self.child.stdout], [], [], max(0.0, limit - time.monotonic()))
            if not ready:
                raise EngineFailed(f"silent for {self.timeout:g} s")
            part = os.read(self.child.stdout.fileno(), 1 << 16)
            if not part:
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
