# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import functools
from typing import Any

from . import _engine


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
        """As run, without blocking the event loop. Cancelling the task ends the run."""
        source = _engine.StopSource() if stop is None else stop
        run = functools.partial(
            self.run, feeds, outputs, out=out, stop=source, timeout=timeout, loop_limit=loop_limit
        )
        try:
            return await asyncio.get_running_loop().run_in_executor(None, run)
        except asyncio.CancelledError:
            source.request_stop()
            raise
