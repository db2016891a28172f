"""How fast this machine reads memory, which is what bounds one-token decoding."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import numpy as np

from models.machine import physical_cores

SIZE = 1 << 28
"""Bytes that are read: far more than caches hold."""
TURNS = 5
Clock = Callable[[], float]


def bandwidth(threads: int | None = None, size: int = SIZE, clock: Clock = perf_counter) -> float:
    """Return bytes per second, all threads together: the best of some turns, as noise only adds."""
    count = threads or physical_cores()
    whole = np.ones(size // 8, np.int64)
    parts = np.array_split(whole, count)
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(np.max, parts))  # the first reading maps the pages
        fastest = min(_seconds(pool, parts, clock) for _ in range(TURNS))
    return whole.nbytes / fastest


def _seconds(
    pool: ThreadPoolExecutor, parts: list[np.ndarray[tuple[int], np.dtype[np.int64]]], clock: Clock
) -> float:
    started = clock()
    list(pool.map(np.max, parts))  # a maximum is vectorised, so memory is what it waits for
    return clock() - started
