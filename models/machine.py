"""The machine that computes."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

DEVICES = Path("/sys/devices")  # where Linux describes the devices of the machine
SUPPLIES = Path("/sys/class/power_supply")
"""Where Linux describes its batteries and chargers, and the batteries of its mice."""
CGROUPS, MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
"""Where Linux has the limits of containers and services, and which of them this process is in."""


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
    Neither are there more threads than a container has time for: with time for 1.5 cores, two
    threads were 0.6 times as fast as one, because a thread that is stopped holds up the others.
    """
    import psutil  # takes a while, and a program that only starts another one counts no cores

    allowed = processors()
    physical = min(psutil.cpu_count(logical=False) or 1, len(allowed))
    for cgroup in _cgroups():
        with suppress(OSError, ValueError):  # "max" is no limit
            time, period = map(int, (cgroup / "cpu.max").read_text().split())
            physical = min(physical, max(1, time // period))
    return min(_performance_cores(allowed) or physical, physical)


def processors() -> set[int]:
    """Return the processors that this process may use; a core may have several."""
    every = range(os.cpu_count() or 1)
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {*every}


class MemoryBytes(NamedTuple):
    """The memory that this process may use."""

    total: int
    free: int


def memory() -> MemoryBytes:
    """Return the memory of this machine, or of the container that this process is in."""
    import psutil

    machine = psutil.virtual_memory()
    total, free = machine.total, machine.available
    for cgroup in _cgroups():
        with suppress(OSError, ValueError):
            limit = int((cgroup / "memory.max").read_text())
            anonymous = int((cgroup / "memory.stat").read_text().split()[1])  # files can be dropped
            total, free = min(total, limit), min(free, max(0, limit - anonymous))
    return MemoryBytes(total, free)


def _cgroups() -> Iterator[Path]:
    """Yield the folders of the cgroups (version 2) that this process is in, the innermost first."""
    with suppress(OSError):
        own = Path(MEMBERSHIP.read_text().rpartition("0::/")[2].strip())
        yield from (CGROUPS / folder for folder in (own, *own.parents))


def _performance_cores(allowed: set[int]) -> int:
    """Return how many of a hybrid processor's fast cores are allowed; 0 where nothing says it."""
    with suppress(OSError, ValueError):
        if sys.platform == "darwin":
            return int(_sysctl("hw.perflevel0.physicalcpu"))
        fast = allowed & _numbers((DEVICES / "cpu_core/cpus").read_text())  # only of hybrid ones
        siblings = "system/cpu/cpu{}/topology/thread_siblings_list"
        return len({(DEVICES / siblings.format(cpu)).read_text() for cpu in fast})
    with suppress(OSError, ValueError):  # of ARM: each thread is as fast as the slowest core
        files = (DEVICES / f"system/cpu/cpu{cpu}/cpu_capacity" for cpu in allowed)
        speeds = sorted((int(file.read_text()) for file in files), reverse=True)
        return max(range(1, len(speeds) + 1), key=lambda count: count * speeds[count - 1])
    return 0


def _numbers(text: str) -> set[int]:
    """Return the numbers of a list such as `0-3,8`."""
    ranges = (part.partition("-") for part in text.strip().split(","))
    return {n for first, _, last in ranges for n in range(int(first), int(last or first) + 1)}


def cpuinfo() -> str:
    """Return Linux's description of the processor; elsewhere that is an `OSError`."""
    return Path("/proc/cpuinfo").read_text("utf-8", "replace")


def processor() -> str:
    """Return the processor's name, or its features: Linux has no names for those of ARM."""
    with suppress(OSError):
        if sys.platform == "darwin":
            return _sysctl("machdep.cpu.brand_string")
        for line in cpuinfo().splitlines():
            if line.startswith(("model name", "flags", "Features")):
                return f"{platform.machine()} {line.partition(':')[2].strip()}"
    return f"{platform.machine()} {platform.processor()}"


def _sysctl(name: str) -> str:
    command = "/usr/sbin/sysctl", "-n", name
    return subprocess.run(command, capture_output=True, check=False, text=True).stdout.strip()


def is_on_battery() -> bool:
    """Return whether the machine runs on its battery, as far as that is known."""
    if sys.platform == "linux":  # psutil takes a mouse's battery for the machine's
        supplies = [path for path in SUPPLIES.glob("*") if _read(path / "scope") != "Device"]
        batteries = {path for path in supplies if _read(path / "type") == "Battery"}
        is_plugged = any(_read(path / "online") == "1" for path in {*supplies} - batteries)
        return not is_plugged and any(_read(path / "status") == "Discharging" for path in batteries)
    import psutil

    battery = getattr(psutil, "sensors_battery", lambda: None)()  # not on every system
    return battery is not None and battery.power_plugged is False


def _read(file: Path) -> str:
    with suppress(OSError):
        return file.read_text().strip()
    return ""
