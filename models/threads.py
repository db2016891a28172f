"""How many threads to compute with."""

import os

import psutil


def physical_cores() -> int:
    """Return the physical cores this process may use: a second thread on a core gains nothing."""
    return max(1, min(psutil.cpu_count(logical=False) or 1, _allowed()))


def other_counts() -> list[int]:
    """Return other counts that may be faster: on some machines one core fewer, or every thread."""
    usual = physical_cores()
    return sorted({usual - 1, usual // 2, _allowed()} - {0, usual})


def _allowed() -> int:
    """Return the logical cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
