"""The file of a run: its settings, then a line for each thing that was measured.

Each line is on disk before the next thing is measured, so what ends a run loses one answer at most.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from models.errors import StorageError, UsageError

FORMAT = "specchat bench 1"
Facts = Mapping[str, Any]


class RunFile:
    """Continue the run in `path`, or begin one. A run of other facts is not continued.

    Raises:
        UsageError: the file is of another run, or of something else.
        StorageError: it cannot be read or written, or somebody else is at it.
    """

    def __init__(self, path: Path, facts: Facts) -> None:
        self.path = path
        self.results: dict[str, Any] = {}
        """What was measured already, by key."""
        self._lock = FileLock(f"{path}.lock", timeout=0)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
            self._file = path.open("a+b")
        except Timeout as error:
            raise StorageError(f"{path} is being written by another specchat.") from error
        except OSError as error:
            raise _unusable(path, error) from error
        try:
            self._begin(json.loads(json.dumps(facts)))
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

    def _begin(self, facts: Facts) -> None:
        whole = self._lines()
        if not whole:
            self._write({"format": FORMAT, **facts})
            return
        first, *lines = whole
        _check(self.path, _header(self.path, first), facts)
        for number, line in enumerate(lines, start=2):
            match _parsed(line):
                case {"key": str(key), "result": result}:
                    self.results[key] = result
                case _:
                    raise StorageError(
                        f"{self.path}, line {number}, is damaged; delete that line, or the file."
                    )

    def _lines(self) -> list[bytes]:
        """Return the whole lines; what a sudden end left of another one is cut off."""
        try:
            self._file.seek(0)
            content = self._file.read()
            whole = content.rfind(b"\n") + 1
            if whole and whole < len(content):
                self._file.truncate(whole)
        except OSError as error:
            raise _unusable(self.path, error) from error
        if content and not whole:
            raise _no_run(self.path)
        return content[:whole].splitlines()

    def _write(self, value: Any) -> None:
        try:
            self._file.write(json.dumps(value).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _unusable(self.path, error) from error


def load(path: Path) -> tuple[Facts, dict[str, Any]]:
    """Return what a run depended on, and its results by key.

    Raises:
        UsageError: there is no such run.
        StorageError: it is damaged.
    """
    if not path.is_file():
        raise UsageError(f"{path} is not a file.")
    with path.open("rb") as file:
        first = file.readline()
    header = _header(path, first)
    run = RunFile(path, {name: value for name, value in header.items() if name != "format"})
    run.close()
    return header, run.results


def _header(path: Path, line: bytes) -> dict[str, Any]:
    header = _parsed(line)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise _no_run(path)
    return header


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _check(path: Path, found: Facts, wanted: Facts) -> None:
    """Refuse to mix results that depend on different things."""
    known = {name: found.get(name) for name in wanted}
    for where, before, now in differences(known, wanted):
        raise UsageError(
            f"{path} is a run of other settings: {where} was {_short(before)}, and is "
            f"{_short(now)} now. Choose another file with --run."
        )


def differences(a: Any, b: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield where two values are different, part by part, and what each of them has there."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for name in dict.fromkeys([*a, *b]):
            place = f"{where}, {name}" if where else name
            yield from differences(a.get(name), b.get(name), place)
    elif a != b:
        yield where, a, b


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _no_run(path: Path) -> UsageError:
    return UsageError(f"{path} is not the file of a run; choose another one with --run.")


def _unusable(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path} cannot be written: {error.strerror}.")
