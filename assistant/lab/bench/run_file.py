"""The file of a run, in JSON lines: its facts, then a line for each answer that was measured.

Each line is on disk before the next answer is, so what ends a run loses one at most.
"""

import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec
import psutil

from assistant.lab.bench.answers import RunAnswer
from models.engines import PACKAGES
from models.errors import StorageError
from models.files.checksum import known_sha256
from models.machine import physical_cores, processor

FORMAT = "specchat bench 3"


class RunFile:
    """Begin the file of a run.

    Raises:
        StorageError: it cannot be written.
    """

    def __init__(self, path: Path, facts: Mapping[str, Any]) -> None:
        self.path = path
        self.answers: list[RunAnswer] = []
        """What was measured."""
        with _disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("xb")
        self._write({"format": FORMAT, **facts})

    def add(self, answer: RunAnswer) -> None:
        """Keep an answer.

        Raises:
            StorageError: it cannot be written.
        """
        self._write(answer)
        self.answers.append(answer)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, value: Any) -> None:
        with _disk_errors(self.path):
            self._file.write(msgspec.json.encode(value) + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}.") from error


def surroundings(files: Mapping[str, Path]) -> dict[str, Any]:
    """Return this computer, the versions of all that computes, and the files, given by role."""
    uname = platform.uname()
    libraries = ("specchat", *(package.name for package in PACKAGES.values()), "numpy")
    return {
        "machine": {
            "processor": processor(),
            "cores": physical_cores(),  # that this process may use
            "memory": psutil.virtual_memory().total,
            "system": f"{uname.system} {uname.release} {uname.machine}",
        },
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in libraries},
        },
        "files": {
            role: {
                "path": os.fsencode(path).decode("utf-8", "backslashreplace"),
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
        return "not installed"
