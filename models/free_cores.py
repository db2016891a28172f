"""The cores that other programs leave free, and how many threads an evaluation needs there."""

import os
from time import perf_counter, process_time
from typing import NamedTuple

import psutil

from models.machine import compute_cores

PERIOD_S = 0.5
"""Seconds between two measurements of what other programs compute."""
COMPUTING = ("user", "system", "irq", "softirq", "steal")
"""The times of a processor that others have used; not `nice`, which gives way."""
IDLE = 0.1
"""Processors that are idle at least, unless there is more to compute than they can."""
SHARE = 0.4
"""The share of the cores that must be free for fewer threads to be faster."""


class _Usage(NamedTuple):
    """Seconds since some moment in the past."""

    elapsed: float
    own: float  # that this process has computed
    others: float  # that other programs have, on processors that this process may use


class FreeCores:
    """The number of threads with which an evaluation ends soonest beside other programs.

    With one of two cores busy, one thread was 1.4 times as fast as two. If others want more than
    about half of the cores, all threads are started: fewer would get less of the processors' time,
    and be no faster.
    """

    def __init__(self) -> None:
        self._most = self._threads = compute_cores()
        self._before = _usage()

    def threads(self) -> int:
        """Return the number for the next evaluation, measured twice a second."""
        if (elapsed := perf_counter() - self._before.elapsed) >= PERIOD_S:
            before, self._before = self._before, _usage()
            own = max(self._before.own - before.own, 0.01) / elapsed
            others = (self._before.others - before.others) / elapsed
            if own + others > len(_allowed()) - IDLE:  # then others had less than they wanted
                others *= max(1.0, self._threads / own)
            free = self._most - others
            self._threads = fastest(free) if free >= SHARE * self._most else self._most
        return self._threads


def fastest(free: float) -> int:
    """Return with how many threads an evaluation ends soonest on so many free cores.

    Threads have equal parts of an evaluation and wait for the slowest one. If one of n threads has
    a core only a part of the time, all n compute only for that part: their speed is n times that
    part.
    """
    whole = int(free)
    return whole + 1 if (whole + 1) * (free - whole) > whole else whole


def _usage() -> _Usage:
    allowed, processors = _allowed(), enumerate(psutil.cpu_times(percpu=True))
    used = (getattr(cpu, name, 0.0) for i, cpu in processors if i in allowed for name in COMPUTING)
    own = process_time()
    return _Usage(perf_counter(), own, sum(used) - own)


def _allowed() -> set[int]:
    """Return the processors that this process may use."""
    every = range(os.cpu_count() or 1)
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {*every}
