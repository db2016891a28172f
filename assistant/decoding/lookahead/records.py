"""What was measured on this machine, kept in one private file of JSON."""

from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from models.files import disk

MOST = 64
"""Records that are kept; the one that was written first makes room."""
Value = TypeVar("Value")


class Records(Generic[Value]):
    """Values by a text that says under which conditions they hold.

    The file is only a cache: one that is damaged, or not ours, is as good as none.
    """

    def __init__(self, path: Path, kind: type[Value]) -> None:
        self._path, self._kind = path, kind

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
        records = self._read()
        records.pop(key, None)
        records[key] = msgspec.Raw(msgspec.json.encode(value))
        newest = dict(list(records.items())[-MOST:])
        disk.write_private(self._path, msgspec.json.encode(newest).decode())

    def _read(self) -> dict[str, msgspec.Raw]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, msgspec.Raw])
        except (OSError, ValueError, RecursionError):
            return {}
