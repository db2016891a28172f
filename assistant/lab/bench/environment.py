"""Where a benchmark ran: what its figures depend on besides the settings."""

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from models.files.checksum import known_sha256
from models.machine import physical_cores

LIBRARIES = ("specchat", "llama-cpp-python", "numpy")


@dataclass(frozen=True, slots=True)
class Computer:
    """A computer, as its owner would name it."""

    processor: str
    cores: int  # physical, that this process may use
    memory: int  # bytes
    system: str


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model file; the sha256 is told where it is known."""

    name: str
    path: str
    size: int
    sha256: str | None


def machine() -> Computer:
    """Return what this computer is."""
    uname = platform.uname()
    system = f"{uname.system} {uname.release} {uname.machine}"
    return Computer(_processor(), physical_cores(), psutil.virtual_memory().total, system)


def versions() -> dict[str, str]:
    """Return the versions of everything that computes."""
    return {"python": platform.python_version(), **{name: _version(name) for name in LIBRARIES}}


def described(path: Path) -> ModelFile:
    """Return which file this is."""
    return ModelFile(path.name, str(path), path.stat().st_size, known_sha256(path))


def facts(files: Mapping[str, Path]) -> dict[str, object]:
    """Return all of it, as plain values; `files` are by role."""
    return {
        "machine": asdict(machine()),
        "versions": versions(),
        "files": {role: asdict(described(path)) for role, path in files.items()},
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
