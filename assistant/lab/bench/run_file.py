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

from assistant.lab.bench.answers import Key, RunAnswer
from models.engines import PACKAGES
from models.errors import StorageError, UsageError
from models.files.checksum import known_sha256
from models.machine import physical_cores, processor

FORMAT = "specchat bench 3"


class RunFile:
    """Continue the run in `path`, or begin one. A run of other facts is not continued.

    Raises:
        UsageError: the file is of another run, or of something else.
        StorageError: it cannot be read or written.
    """

    def __init__(self, path: Path, facts: Mapping[str, Any]) -> None:
        self.path = path
        self.answers: dict[Key, RunAnswer] = {}
        """What was measured already."""
        with _disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b")
        try:
            self._begin(msgspec.json.decode(msgspec.json.encode({"format": FORMAT, **facts})))
        except BaseException:  # nobody else could close it
            self.close()
            raise

    def add(self, answer: RunAnswer) -> None:
        """Keep an answer.

        Raises:
            StorageError: it cannot be written.
        """
        self._write(answer)
        self.answers[answer.key] = answer

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _begin(self, facts: Mapping[str, Any]) -> None:
        with _disk_errors(self.path):
            self._file.seek(0)
            content = self._file.read()
            whole = content.rfind(b"\n") + 1
            if 0 < whole < len(content):
                self._file.truncate(whole)  # what a sudden end left of another line
        if not content:
            self._write(facts)
            return
        first, *lines = content[:whole].splitlines() or [b""]
        header = _header(first)
        if header.get("format") != FORMAT:
            raise UsageError(
                f"{self.path} is not the file of a run; choose another one with --run."
            )
        for where, before, now in _differences({name: header.get(name) for name in facts}, facts):
            raise UsageError(
                f"{self.path} is a run of other settings: {where} was {before}, and is {now} now. "
                "Choose another file with --run."
            )
        for number, line in enumerate(lines, start=2):
            try:
                answer = msgspec.json.decode(line, type=RunAnswer)
            except ValueError as error:
                raise StorageError(
                    f"{self.path}, line {number}, is damaged; delete that line, or the file."
                ) from error
            self.answers[answer.key] = answer

    def _write(self, value: Any) -> None:
        with _disk_errors(self.path):
            self._file.write(msgspec.json.encode(value) + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())


def _header(line: bytes) -> dict[str, Any]:
    """Return the facts of a run; nothing where a file begins with something else."""
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except ValueError:
        return {}


def _differences(a: Any, b: Any, where: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield where two values are different, part by part, and what each of them has there."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for name in dict.fromkeys([*a, *b]):
            yield from _differences(a.get(name), b.get(name), f"{where}, {name}".lstrip(", "))
    elif a != b:
        before, now = (msgspec.json.encode(each).decode()[:60] for each in (a, b))
        yield where, before, now


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
