# SPDX-License-Identifier: Apache-2.0
"""Cores that a process keeps to, apart from those of other processes of its host that ask alike."""
from __future__ import annotations

import collections
import dataclasses
import os
import pathlib
import socket
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence

from . import _engine

NODE = "node"  # instead of a number of cores: all those of a NUMA node

_CPU = pathlib.Path("/sys/devices/system/cpu")
_locks: list[socket.socket] = []  # of the cores that this process keeps; the system lets go of them when it ends


@dataclasses.dataclass(frozen=True)
class Core:
    processors: tuple[int, ...]  # of the system, those that this process may use
    l3_domain: int
    node: int


def _numbers(text: str) -> Iterable[int]:
    """Of a list as Linux writes it: 0-3,8."""
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _siblings(processor: int) -> tuple[int, ...]:
    try:
        found = _numbers((_CPU / f"cpu{processor}/topology/thread_siblings_list").read_text())
        return tuple(sorted(os.sched_getaffinity(0).intersection(found))) or (processor,)
    except OSError:
        return (processor,)


def of_machine() -> list[Core]:
    """Those that this process may use."""
    cores = _engine.describe_machine()["cores"]
    return [Core(_siblings(core["os_processor"]), core["l3_domain"], core["numa_node"]) for core in cores]


@dataclasses.dataclass(frozen=True)
class Usual:
    """What a process gets that is alone on a machine like this."""

    cores: int
    processors: int


def per_replica(count: int | str) -> Usual:
    cores = of_machine()
    chosen = choose(cores, cores, count) or cores
    number = len(chosen) if count == NODE else int(count)
    return Usual(number, number * max(len(core.processors) for core in chosen))


def _grouped(cores: Iterable[Core], place: Callable[[Core], Hashable]) -> list[list[Core]]:
    groups: dict[Hashable, list[Core]] = collections.defaultdict(list)
    for core in cores:
        groups[place(core)].append(core)
    return list(groups.values())


def choose(cores: Sequence[Core], free: Collection[Core], count: int | str) -> list[Core]:
    """`count` of the free cores: of one L3 domain, else of one node, else any, where they leave the fewest over. For
    NODE all cores of the largest node of which none is taken. Empty where there are too few."""
    if count == NODE:
        whole = [group for group in _grouped(cores, lambda core: core.node) if all(core in free for core in group)]
        return max(whole, key=len, default=[])
    number = int(count)
    places: tuple[Callable[[Core], Hashable], ...] = (lambda core: core.l3_domain, lambda core: core.node, lambda core: 0)
    for place in places:
        large = [group for group in _grouped((core for core in cores if core in free), place) if len(group) >= number]
        if large:
            return min(large, key=len)[:number]
    return []


def _lock(core: Core) -> socket.socket | None:
    """A name that one process of the host (of its network namespace) can have; None where another one has it."""
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        lock.bind(f"\0colonnade-core-{core.processors[0]}")
    except OSError:
        lock.close()
        return None
    return lock


def _take(cores: Sequence[Core], count: int | str) -> list[Core]:
    free = set(cores)
    while chosen := choose(cores, free, count):
        locks = []
        for core in chosen:
            lock = _lock(core)
            if lock is None:
                free.discard(core)
                break
            locks.append(lock)
        if len(locks) == len(chosen):
            _locks.extend(locks)
            return chosen
        for lock in locks:
            lock.close()
    return []


def _move_threads(processors: set[int]) -> None:
    """All of this process: also those that others start meanwhile."""
    moved: set[str] = set()
    while new := set(os.listdir("/proc/self/task")) - moved:
        for thread in new:
            try:
                os.sched_setaffinity(int(thread), processors)
            except ProcessLookupError:
                pass
        moved |= new


def keep(count: int | str) -> list[Core]:
    """Keeps all threads of this process, and those that they start, to `count` cores (NODE: to those of a NUMA node)
    until it ends. Empty, and nothing done, where others keep to so many that too few are left, and under a quota of the
    control group: containers that share processors by time do not see which ones the others took."""
    if _engine.describe_machine()["cpu_quota"] > 0:
        return []
    chosen = _take(of_machine(), count)
    processors = {processor for core in chosen for processor in core.processors}
    if processors:
        _move_threads(processors)
    return chosen
