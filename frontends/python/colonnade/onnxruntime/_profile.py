# SPDX-License-Identifier: Apache-2.0
"""A session's times as ONNX Runtime writes them: events of the trace-event format, one list."""
from __future__ import annotations

import json
import os
import threading
import time
from typing import Any

from .._errors import ColonnadeError
from ._devices import PROVIDER


class Profile:
    """Collects from when it is made. Runs that are profiled follow each other."""

    def __init__(self, start_ns: int) -> None:
        self.start_ns = start_ns
        self.lock = threading.Lock()
        self._nodes: dict[str, int] = {}
        self._events: list[dict[str, Any]] = []

    def _now(self) -> float:
        return (time.monotonic_ns() - self.start_ns) / 1000

    def add_loading(self, is_path: bool) -> None:
        self._add("Session", "model_loading_uri" if is_path else "model_loading_array", 0, self._now())
        self._add("Session", "session_initialization", 0, self._now())

    def _add(self, kind: str, name: str, begin: float, end: float, thread: int | None = None, **arguments: Any) -> None:
        thread = threading.get_native_id() if thread is None else thread
        event = {"cat": kind, "pid": os.getpid(), "tid": thread, "dur": round(end - begin, 3), "ts": round(begin, 3)}
        self._events.append({**event, "ph": "X", "name": name, "args": arguments})

    def run(self, session: Any, work: Any) -> Any:
        """What `work` gives, and the times of its operators."""
        with self.lock:
            session.set_profiling(True)
            begin = self._now()
            try:
                return work()
            finally:
                end = self._now()
                try:
                    self._add_nodes(session.trace()["traceEvents"], begin)
                except ColonnadeError:  # it ended before anything was planned
                    pass
                self._add("Session", "SequentialExecutor::Execute", begin, end)
                self._add("Session", "model_run", begin, end)

    def _add_nodes(self, events: list[dict[str, Any]], begin: float) -> None:
        first_thread = threading.get_native_id()
        for event in events:
            if event["ph"] != "X":
                continue
            name, at = event["name"], begin + event["ts"]
            index = self._nodes.setdefault(name, len(self._nodes))
            known = {"op_name": event["cat"], "provider": PROVIDER, "node_index": str(index)}
            known.update({key: str(value) for key, value in event.get("args", {}).items()})
            self._add("Node", f"{name}_kernel_time", at, at + event["dur"], first_thread + event["tid"], **known)

    def write(self, prefix: str) -> str:
        path = f"{prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}_{time.time_ns() // 1000000 % 1000}.json"
        with open(path, "w") as file:
            json.dump(self._events, file)
        return path
