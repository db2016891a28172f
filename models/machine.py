"""The machine that computes."""

import os
import platform
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

DEVICES = Path("/sys/devices")
"""Where Linux describes the devices of the machine."""


def is_local(host: str) -> bool:
    """Return whether a host is localhost or a loopback address."""
    from ipaddress import ip_address

    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host.lower() == "localhost"


def compute_cores() -> int:
    """Return how many cores to compute on: physical ones that this process may use.

    Threads have equal parts of an evaluation and wait for the slowest one. So efficiency cores,
    which are slower, are left out, as llama.cpp does; a second thread on a core gains nothing.
    """
    import psutil  # takes a while, and a program that only starts another one counts no cores

    known = hasattr(os, "sched_getaffinity")
    allowed = os.sched_getaffinity(0) if known else {*range(os.cpu_count() or 1)}
    physical = min(psutil.cpu_count(logical=False) or 1, len(allowed))
    return min(_performance_cores(allowed) or physical, physical)


def _performance_cores(allowed: set[int]) -> int:
    """Return how many of a hybrid processor's fast cores are allowed; 0 for other processors."""
    with suppress(OSError, ValueError):
        if sys.platform == "darwin":
            command = "/usr/sbin/sysctl", "-n", "hw.perflevel0.physicalcpu"
            return int(subprocess.run(command, capture_output=True, check=False).stdout)
        fast = allowed & _numbers((DEVICES / "cpu_core/cpus").read_text())  # only of hybrid ones
        siblings = "system/cpu/cpu{}/topology/thread_siblings_list"
        return len({(DEVICES / siblings.format(cpu)).read_text() for cpu in fast})
    return 0


def _numbers(text: str) -> set[int]:
    """Return the numbers of a list such as `0-3,8`."""
    ranges = (part.partition("-") for part in text.strip().split(","))
    return {n for first, _, last in ranges for n in range(int(first), int(last or first) + 1)}


def cpuinfo() -> str:
    """Return Linux's description of the processor.

    Raises:
        OSError: this is not Linux.
    """
    return Path("/proc/cpuinfo").read_text("utf-8", "replace")


def processor() -> str:
    """Return the processor's name."""
    with suppress(OSError):
        for line in cpuinfo().splitlines():
            if line.startswith(("model name", "flags")):
                return f"{platform.machine()} {line.partition(':')[2].strip()}"
    return f"{platform.machine()} {platform.processor()}"


def is_on_battery() -> bool:
    """Return whether the machine runs on its battery, as far as that is known."""
    import psutil

    sensor = getattr(psutil, "sensors_battery", lambda: None)  # not on every system
    battery = sensor()
    return battery is not None and battery.power_plugged is False
