"""What was found out on this machine, kept by the conditions under which it holds."""

from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from models.files import disk

MAX_RECORDS = 64
"""The oldest entry is dropped first."""
Value = TypeVar("Value")


class Records(Generic[Value]):
    """Values by a text that says under which conditions they hold, in one private file of JSON.

    The file is only a cache: one that is damaged, or not ours, is ignored. Without a folder nothing
    is known, and nothing kept.
    """

    def __init__(self, folder: Path | None, name: str, kind: type[Value]) -> None:
        self._path, self._kind = folder and folder / name, kind

    def get(self, key: str) -> Value | None:
        """Return what is known, if it is a value of our kind."""
        try:
            return msgspec.json.decode(self._read()[key], type=self._kind)
        except (KeyError, ValueError, RecursionError):
            return None

    def newest(self, beginning: str) -> Value | None:
        """Return what was written last under a key that begins so, if it is of our kind."""
        keys = [key for key in self._read() if key.startswith(beginning)]
        return self.get(keys[-1]) if keys else None

    def put(self, key: str, value: Value) -> None:
        """Remember a value, in one step.

        Raises:
            OSError: the file cannot be written.
        """
        if self._path is None:
            return
        records = self._read()
        records.pop(key, None)
        records[key] = msgspec.Raw(msgspec.json.encode(value))
        newest = dict(list(records.items())[-MAX_RECORDS:])
        disk.write_private(self._path, msgspec.json.encode(newest).decode())

    def keep(self, key: str, value: Value) -> None:
        """Remember a value if that can be done: otherwise it is found out again."""
        with suppress(OSError):
            self.put(key, value)

    def _read(self) -> dict[str, msgspec.Raw]:
        try:
            text = self._path.read_bytes() if self._path else b"{}"
            return msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        except (OSError, ValueError, RecursionError):
            return {}
