"""The primitive values of a GGUF file. Nothing read can make this use much memory or time."""

import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

Value = int | float | bool | str | tuple[int | float | bool, ...]

# How struct reads the scalar types, by their number; 8 and 9 are strings and arrays.
_SCALARS = dict(
    enumerate(("<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?", "", "", "<Q", "<q", "<d"))
)
_STRING, _ARRAY = 8, 9
_KEPT_STRING = 1 << 20  # a longer one is skipped: no template or name is
_LONGEST_STRING = 64 << 20
_KEPT_NUMBERS = 1024  # one a layer is kept, scores of a vocabulary are not
_MOST_STRINGS = 4 << 20


class Malformed(Exception):
    """The bytes are not what the format asks for."""


@dataclass(frozen=True, slots=True)
class Length:
    """A long array or text, of which only the length is kept."""

    count: int
    distinct: int | None = None  # how many strings of an array differ


class Stream:
    """A GGUF file as a sequence of values."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = os.fstat(file.fileno()).st_size
        self._strings = 0

    @property
    def position(self) -> int:
        """Bytes read so far."""
        return self._file.tell()

    def number(self, layout: str) -> int:
        """Read one integer."""
        return int(self._scalar(layout))

    def count(self, what: str, most: int) -> int:
        """Read a 64-bit count that must not exceed `most`."""
        count = self.number("<Q")
        if count > most:
            raise Malformed(f"it claims {count} {what}")
        return count

    def text(self, longest: int = _LONGEST_STRING) -> str | Length:
        """Read a string, or skip it when it is longer than anything worth keeping."""
        length = self.count("bytes of text in one place", longest)
        if length > _KEPT_STRING:
            self._skip(length)
            return Length(length)
        return self._bytes(length).decode("utf-8", "replace")

    def value(self) -> Value | Length:
        """Read a value and the type before it."""
        kind = self.number("<I")
        if kind == _STRING:
            return self.text()
        return self._array() if kind == _ARRAY else self._scalar(self._layout(kind))

    def _array(self) -> Value | Length:
        kind, count = self.number("<I"), self.number("<Q")
        if kind == _STRING:
            return Length(count, self._distinct_strings(count))
        layout = self._layout(kind)
        if count > _KEPT_NUMBERS:
            self._skip(count * struct.calcsize(layout))
            return Length(count)
        return tuple(self._scalar(layout) for _ in range(count))

    def _distinct_strings(self, count: int) -> int:
        """Skip strings and count those that differ, by their hash: their bytes may be many."""
        self._strings += count
        if self._strings > _MOST_STRINGS:
            raise Malformed(f"it claims {self._strings} strings")
        read: Callable[[int], bytes] = self._file.read
        seen: set[int] = set()
        left = self.size - self.position
        for _ in range(count):  # a vocabulary: 300,000 rounds in 0.2 s
            length = int.from_bytes(read(8), "little")
            left -= 8 + length
            if left < 0 or length > _KEPT_STRING:
                raise Malformed("it ends within its header" if left < 0 else "a string is too long")
            seen.add(hash(read(length)))
        return len(seen)

    def _scalar(self, layout: str) -> int | float | bool:
        (value,) = struct.unpack(layout, self._bytes(struct.calcsize(layout)))
        return value  # type: ignore[no-any-return]  # struct cannot say what it unpacks

    def _layout(self, kind: int) -> str:
        if layout := _SCALARS.get(kind):
            return layout
        raise Malformed(f"a value has the unknown type {kind}")

    def _bytes(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) < count:
            raise Malformed("it ends within its header")
        return data

    def _skip(self, count: int) -> None:
        if self.position + count > self.size:
            raise Malformed("it ends within its header")
        self._file.seek(count, os.SEEK_CUR)
