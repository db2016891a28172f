"""The file of a run, in JSON lines: its facts, then a line for each thing that was measured.

Each line is on disk before the next thing is measured, so what ends a run loses one answer at most.
"""

import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil
from filelock import FileLock, Timeout

from models.engines import PACKAGES
from models.errors import StorageError, UsageError
from models.files.checksum import known_sha256
from models.machine import physical_cores, processor

FORMAT = "specchat bench 2"


class RunFile:
    """Continue the run in `path`, or begin one. A run of other facts is not continued.

    Raises:
        UsageError: the file is of another run, or of something else.
        StorageError: it cannot be read or written, or somebody else is at it.
    """

    def __init__(self, path: Path, facts: Mapping[str, Any]) -> None:
        self.path = path
        self.results: dict[str, Any] = {}
        """What was measured already, by key."""
        self._lock = FileLock(f"{path}.lock", timeout=0)
        with _disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
            self._file = path.open("a+b")
        try:
            self._begin({"format": FORMAT, **json.loads(json.dumps(facts))})
        except BaseException:  # nobody else could release what was locked
            self.close()
            raise

    def add(self, key: str, result: Any) -> None:
        """Keep a result.

        Raises:
            StorageError: it cannot be written.
        """
        self._write({"key": key, "result": result})
        self.results[key] = json.loads(json.dumps(result))

    def close(self) -> None:
        """Let others write."""
        self._file.close()
        Path(self._lock.lock_file).unlink(missing_ok=True)
        self._lock.release()

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
        header, *lines = map(_parsed, content[:whole].splitlines() or [b""])
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise UsageError(
                f"{self.path} is not the file of a run; choose another one with --run."
            )
        for where, before, now in _differences({name: header.get(name) for name in facts}, facts):
            raise UsageError(
                f"{self.path} is a run of other settings: {where} was {before}, and is {now} now. "
                "Choose another file with --run."
            )
        for number, line in enumerate(lines, start=2):
            match line:
                case {"key": str(key), "result": result}:
                    self.results[key] = result
                case _:
                    raise StorageError(
                        f"{self.path}, line {number}, is damaged; delete that line, or the file."
                    )

    def _write(self, value: Any) -> None:
        with _disk_errors(self.path):
            self._file.write(json.dumps(value).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _differences(a: Any, b: Any, where: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield where two values are different, part by part, and what each of them has there."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for name in dict.fromkeys([*a, *b]):
            yield from _differences(a.get(name), b.get(name), f"{where}, {name}".lstrip(", "))
    elif a != b:
        before, now = (json.dumps(each, ensure_ascii=False)[:60] for each in (a, b))
        yield where, before, now


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except Timeout as error:
        raise StorageError(f"{path} is being written by another specchat.") from error
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
