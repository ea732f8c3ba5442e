# SPDX-License-Identifier: Apache-2.0
"""Which requests for a model run together: the rule of `colonnade serve`, on an event loop."""
from __future__ import annotations

import asyncio
import collections
import dataclasses
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._session import Session

Arrays = Mapping[str, "np.ndarray[Any, Any]"]

# As in frontends/server/queue.cpp.
_TRIALS = 4
_FASTER = 0.9


@dataclasses.dataclass(eq=False)
class _Request:
    feeds: Arrays
    answer: asyncio.Future[dict[str, Any]]
    kind: object  # equal for requests of one sample that can run together; None: alone

    def succeed(self, outputs: dict[str, Any]) -> None:
        if not self.answer.done():
            self.answer.set_result(outputs)

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


@dataclasses.dataclass
class _Measured:
    runs: int = 0
    best: float = 0  # seconds a sample


def _kind(feeds: Arrays) -> object:
    if not all(isinstance(array, np.ndarray) and array.shape[:1] == (1,) for array in feeds.values()):
        return None
    return sorted((name, array.dtype.str, array.shape) for name, array in feeds.items())


def has_batch_axis(session: Session) -> bool:
    """Whether all tensors begin with the same open dimension, by a name that says what it is."""
    first = {info.shape[0] if info.shape else None for info in [*session.inputs, *session.outputs]}
    name = first.pop() if len(first) == 1 else None
    return isinstance(name, str) and (name.lower() in ("n", "bs") or "batch" in name.lower())


class Line:
    """Requests for one model, of one event loop. One that finds the model idle runs at once. Those that come meanwhile
    wait, and then run together: 2, 4, ... up to `largest`, as far as runs of so many turned out to take less a sample.
    Answers have the same bits alone and in any batch."""

    def __init__(self, session: Session, largest: int):
        self._session = session
        self._largest = largest if has_batch_axis(session) else 1
        self._waiting: collections.deque[_Request] = collections.deque()
        self._work: asyncio.Task[None] | None = None
        self._measured: dict[int, _Measured] = collections.defaultdict(_Measured)  # by samples of a run

    async def run(self, feeds: Arrays) -> dict[str, Any]:
        """The model's outputs. Throws what the run throws."""
        request = _Request(feeds, asyncio.get_running_loop().create_future(), _kind(feeds))
        self._waiting.append(request)
        if self._work is None:
            self._work = asyncio.create_task(self._run_what_waits())
        return await request.answer

    def worth_merging(self) -> int:
        """Samples that a run may have, so far."""
        most = 1
        while most * 2 <= self._largest and self._measured[most].runs >= _TRIALS:
            larger = self._measured[most * 2]
            if larger.runs < _TRIALS:
                return most * 2  # a trial
            if larger.best > _FASTER * self._measured[most].best:
                break
            most *= 2
        return most

    def _take(self) -> list[_Request]:
        """The first that waits, and as many that can run with it as make a power of two."""
        first = self._waiting[0]
        most = 1 if first.kind is None else self.worth_merging()
        fit = [request for request in self._waiting if request is first or request.kind == first.kind][:most]
        fit = fit[: 1 << (len(fit).bit_length() - 1)]
        for request in fit:
            self._waiting.remove(request)
        return fit

    async def _run_what_waits(self) -> None:
        try:
            while self._waiting:
                if self._waiting[0].answer.done():  # nobody waits for it any more
                    self._waiting.popleft()
                    continue
                requests = self._take()
                if len(requests) == 1 or not await self._run_together(requests):
                    for request in requests:
                        await self._run_alone(request)
        finally:
            self._work = None

    async def _run_together(self, requests: list[_Request]) -> bool:
        """False where that failed: one of them may be to blame."""
        count = len(requests)
        try:
            feeds = {name: np.concatenate([one.feeds[name] for one in requests]) for name in requests[0].feeds}
            outputs = await self._timed(feeds, count)
            if any(len(array) != count for array in outputs.values()):
                return False
        except Exception:
            return False
        for i, request in enumerate(requests):
            request.succeed({name: array[i : i + 1] for name, array in outputs.items()})
        return True

    async def _run_alone(self, request: _Request) -> None:
        try:
            if request.kind is None:
                request.succeed(await self._session.run_async(dict(request.feeds)))
            else:
                request.succeed(await self._timed(request.feeds, 1))
        except Exception as error:
            request.fail(error)

    async def _timed(self, feeds: Arrays, samples: int) -> dict[str, Any]:
        begin = time.perf_counter()
        outputs: dict[str, Any] = await self._session.run_async(dict(feeds))
        took = (time.perf_counter() - begin) / samples
        measured = self._measured[samples]
        measured.best = took if measured.runs == 0 else min(measured.best, took)
        measured.runs += 1
        return outputs
