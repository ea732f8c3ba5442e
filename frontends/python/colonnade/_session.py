# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import atexit
import functools
from typing import Any

from . import _engine

_stops: set[_engine.StopSource] = set()


def _finish() -> None:
    """Before the interpreter ends: threads of the library would call it when their runs are over."""
    for stop in list(_stops):
        stop.request_stop()
    _engine._wait_for_started_runs()
    _engine.set_log_handler(None)


atexit.register(_finish)


def _settle(future: asyncio.Future[dict[str, Any]], result: dict[str, Any], error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


class Session(_engine.Session):
    __doc__ = _engine.Session.__doc__

    async def run_async(
        self,
        feeds: _engine.Feeds,
        outputs: _engine.Names = None,
        *,
        out: _engine.Out = None,
        stop: _engine.StopSource | None = None,
        timeout: float | None = None,
        loop_limit: int = 0,
    ) -> dict[str, Any]:
        """As run, without blocking the event loop. Cancelling the task ends the run, by `stop` where it is given."""
        loop = asyncio.get_running_loop()
        source = _engine.StopSource() if stop is None else stop
        future: asyncio.Future[dict[str, Any]] = loop.create_future()

        def done(result: dict[str, Any], error: Exception | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, future, result, error)

        if not self._start(feeds, outputs, out, source, timeout, loop_limit, done):
            run = functools.partial(self.run, feeds, outputs, out=out, stop=source, timeout=timeout, loop_limit=loop_limit)
            future = loop.run_in_executor(None, run)
        _stops.add(source)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            source.request_stop()
            await asyncio.wait({future})  # until then it may write to `out`
            if not future.cancelled():
                future.exception()
            raise
        finally:
            _stops.discard(source)
