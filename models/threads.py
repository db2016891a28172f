"""How many threads to compute with."""

import os

import psutil


def physical_cores() -> int:
    """Return the physical cores this process may use: a second thread on a core gains nothing."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(psutil.cpu_count(logical=False) or 1, allowed or 1))
