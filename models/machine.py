"""The machine that computes."""

import os
import platform
from contextlib import suppress
from pathlib import Path


def is_local(host: str) -> bool:
    """Return whether a host is localhost or a loopback address."""
    from ipaddress import ip_address

    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host.lower() == "localhost"


def physical_cores() -> int:
    """Return the physical cores this process may use: a second thread on a core gains nothing."""
    import psutil  # takes a while, and a program that only starts another one counts no cores

    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(psutil.cpu_count(logical=False) or 1, allowed or 1))


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
