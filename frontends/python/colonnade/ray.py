# SPDX-License-Identifier: Apache-2.0
"""Models behind Ray Serve: replicas with cores of their own, many models on each, more replicas where requests wait.

    handle = ray.serve.run(colonnade.ray.application({"net": "/models/net.onnx"}, cores=4))
    outputs = colonnade.ray.ask(handle, {"image": image}, "net")

Needs the package ray[serve]."""
from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import ray  # type: ignore[import-not-found,import-untyped,unused-ignore]
from ray import serve  # type: ignore[import-not-found,import-untyped,unused-ignore]

import colonnade

from . import _cores, _engine
from ._batches import Line

Arrays = Mapping[str, "np.ndarray[Any, Any]"]

_log = logging.getLogger(__name__)
# What a replica leaves behind that dies, or its node, with a request in its hands.
_DEATHS = (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError, ray.exceptions.WorkerCrashedError)


def application(
    models: Mapping[str, str | os.PathLike[str]],
    *,
    cores: int | str = 1,
    own_cores: bool = True,
    replicas: tuple[int, int] = (1, 8),
    waiting: float = 4,
    largest_batch: int = 8,
    models_per_replica: int = 8,
    options: _engine.SourceOptions | None = None,
    autoscaling: Mapping[str, Any] | None = None,
    actor: Mapping[str, Any] | None = None,
) -> Any:
    """An application for `ray.serve.run`.

    models: name -> a file that every node can read. A replica loads those that it is asked for, `models_per_replica` at
    a time, with `options` of colonnade.Session; who was not asked for the longest makes room.
    cores: of each replica and of a run, physical ones; "node": those of a NUMA node. Ray counts them as many processors as
    they have on this machine. Replicas of a host keep to different cores (`own_cores`), where there are enough and
    no quota holds.
    replicas: at least and at most. waiting: requests on a replica beyond which there are more replicas.
    largest_batch: of requests that wait for the same model and have a sample each, most that run together.
    autoscaling, actor: more of Ray's settings, for autoscaling_config and ray_actor_options.
    Throws ValueError where an argument is none of these."""
    paths = {name: os.fspath(path) for name, path in models.items()}
    if not paths or "" in paths:
        raise ValueError("models: expected at least one, each with a name")
    if cores != _cores.NODE and not (isinstance(cores, int) and cores >= 1):
        raise ValueError(f"cores: expected a number of at least 1 or '{_cores.NODE}', found {cores!r}")
    usual = _cores.per_replica(cores)
    scaling = {"min_replicas": replicas[0], "max_replicas": replicas[1], "target_ongoing_requests": waiting}
    multiplexed: Any = serve.multiplexed(max_num_models_per_replica=models_per_replica)

    class Colonnade:
        def __init__(self) -> None:
            kept = _cores.keep(cores) if own_cores else []
            self._options: Any = {"threads": len(kept) or usual.cores, **(options or {})}

        @multiplexed  # type: ignore[misc,untyped-decorator,unused-ignore]
        async def line(self, name: str) -> Line:
            session = await asyncio.to_thread(lambda: colonnade.Session(paths[name], **self._options))
            return Line(session, largest_batch)

        async def __call__(self, inputs: Arrays) -> dict[str, Any]:
            name = serve.get_multiplexed_model_id() or next(iter(paths))
            if name not in paths:
                raise ValueError(f"no model '{name}': expected one of {', '.join(paths)}")
            line: Line = await self.line(name)
            return await line.run(inputs)

    deployment = serve.deployment(
        Colonnade,
        ray_actor_options={"num_cpus": usual.processors, **(actor or {})},
        autoscaling_config={**scaling, **(autoscaling or {})},
        max_ongoing_requests=2 * max(largest_batch, round(waiting)),
    )
    return deployment.bind()


class _Attempt:
    """A body that may end by the death of a replica, unless it is the last one."""

    def __init__(self, is_last: bool) -> None:
        self._is_last = is_last

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if self._is_last or not isinstance(error, _DEATHS):
            return False
        _log.info("asked again, as a replica died: %s", error)
        return True


def _attempts(tries: int) -> Iterator[_Attempt]:
    if tries < 1:
        raise ValueError(f"tries: expected 1 or more, found {tries}")
    return (_Attempt(left == 0) for left in reversed(range(tries)))


def ask(
    handle: Any, inputs: Arrays, model: str = "", *, tries: int = 3, timeout: float | None = None
) -> dict[str, Any]:
    """The model's outputs by name; the first model's where `model` is "". Asks again, at most `tries` times in all,
    where a replica dies with the request in its hands; `timeout`: seconds of each. Any thread outside of an event loop.
    Throws what the run throws, and Ray's errors."""
    caller = handle.options(multiplexed_model_id=model)
    for attempt in _attempts(tries):
        with attempt:
            answer: dict[str, Any] = caller.remote(inputs).result(timeout_s=timeout)
            return answer
    raise AssertionError("the last attempt throws what it met")


async def ask_async(handle: Any, inputs: Arrays, model: str = "", *, tries: int = 3) -> dict[str, Any]:
    """As `ask`, on an event loop: of another deployment, say."""
    caller = handle.options(multiplexed_model_id=model)
    for attempt in _attempts(tries):
        with attempt:
            answer: dict[str, Any] = await caller.remote(inputs)
            return answer
    raise AssertionError("the last attempt throws what it met")
