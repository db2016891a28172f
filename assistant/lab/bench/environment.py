"""Where a benchmark ran: what its figures depend on besides the settings."""

import os
import platform
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

import numpy as np
import psutil

from models.files.checksum import known_sha256
from models.machine import physical_cores

SIZE = 1 << 28
"""Bytes that are read to measure bandwidth: far more than caches hold."""
TURNS = 5
LIBRARIES = ("specchat", "llama-cpp-python", "numpy")


def facts(files: Mapping[str, Path]) -> dict[str, object]:
    """Return this computer, the versions of all that computes, and the files, given by role."""
    uname = platform.uname()
    return {
        "machine": {
            "processor": _processor(),
            "cores": physical_cores(),  # that this process may use
            "memory": psutil.virtual_memory().total,
            "system": f"{uname.system} {uname.release} {uname.machine}",
        },
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in LIBRARIES},
        },
        "files": {
            role: {
                "name": path.name,
                "path": str(path),
                "size": path.stat().st_size,
                "sha256": known_sha256(path),
            }
            for role, path in files.items()
        },
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or os.uname().machine


def bandwidth(threads: int | None = None) -> float:
    """Return bytes per second, all threads together: the best of some turns, as noise only adds."""
    count = threads or physical_cores()
    whole = np.ones(SIZE // 8, np.int64)
    parts = np.array_split(whole, count)
    seconds = []
    with ThreadPoolExecutor(count) as pool:
        for _ in range(1 + TURNS):
            started = perf_counter()
            list(pool.map(np.max, parts))  # a maximum is vectorised: it waits for memory alone
            seconds.append(perf_counter() - started)
    return whole.nbytes / min(seconds[1:])  # the first reading maps the pages
