"""What was found out on this machine, kept by the conditions under which it holds."""

from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

from models.files.disk import JsonFile, converted

MAX_RECORDS = 64
"""The oldest entry is dropped first."""
Value = TypeVar("Value")


class Records(Generic[Value]):
    """Values by a text that says under which conditions they hold, in one private file of JSON.

    The file is only a cache: one that is damaged, or not ours, is ignored. Without a folder nothing
    is known, and nothing kept.
    """

    def __init__(self, folder: Path | None, name: str, kind: type[Value]) -> None:
        self._file, self._kind = folder and JsonFile(folder / name, dict[str, Any]), kind

    def get(self, key: str) -> Value | None:
        """Return what is known, if it is a value of our kind."""
        return converted(self._read().get(key), self._kind)

    def newest(self, beginning: str) -> Value | None:
        """Return what was written last under a key that begins so, if it is of our kind."""
        keys = [key for key in self._read() if key.startswith(beginning)]
        return self.get(keys[-1]) if keys else None

    def put(self, key: str, value: Value) -> None:
        """Remember a value, in one step.

        Raises:
            OSError: the file cannot be written.
        """

        def with_value(records: dict[str, Any] | None) -> dict[str, Any]:
            others = [each for each in (records or {}).items() if each[0] != key]
            return dict([*others, (key, value)][-MAX_RECORDS:])

        if self._file:
            self._file.update(with_value)

    def keep(self, key: str, value: Value) -> None:
        """Remember a value if that can be done: otherwise it is found out again."""
        with suppress(OSError):
            self.put(key, value)

    def _read(self) -> dict[str, Any]:
        return (self._file and self._file.read()) or {}
