"""The primitive values of a GGUF file, read in bounded memory and time."""

import hashlib
import os
import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

Value = int | float | bool | str | tuple[int | float | bool, ...]

# How struct reads the scalar types, by their number; 8 and 9 are strings and arrays.
_SCALARS = dict(
    enumerate(("<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?", "", "", "<Q", "<q", "<d"))
)
STRING, ARRAY = 8, 9
_INTEGERS = (4, 5)
_MAX_KEPT_TEXT = 1 << 20  # longer ones are skipped: no template or name is
_MAX_STRING = 64 << 20
_MAX_KEY = 1024
_MAX_ALL_TEXT = 64 << 20  # in everything that is read; known vocabularies have 15
_MAX_KEPT_NUMBERS = 1024  # one per layer is kept, scores of a vocabulary are not
_MAX_STRINGS = 4 << 20
_BLOCK = 1 << 18
_LENGTH = struct.Struct("<Q")


class Malformed(Exception):
    """The bytes do not follow the format."""


@dataclass(frozen=True, slots=True)
class Length:
    """A long array or text; only its length is kept."""

    count: int
    digest: str | None = None  # of an array's strings: equal if all are, in order


class Stream:
    """A GGUF file as a sequence of values."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = os.fstat(file.fileno()).st_size
        self._strings = 0
        self._text = 0

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

    def text(self, longest: int = _MAX_STRING) -> str | Length:
        """Read a string, or skip it if it is too long to keep."""
        length = self.count("bytes of text in one place", longest)
        if length > _MAX_KEPT_TEXT:
            self._skip(length)
            return Length(length)
        self._take(length)
        return self._bytes(length).decode("utf-8", "replace")

    def keys(self, count: int) -> Iterator[str]:
        """Yield the keys of so many values; each value is to be read before the next key."""
        for _ in range(count):
            yield str(self.text(_MAX_KEY))

    def value(self) -> Value | Length:
        """Read a value and the type before it."""
        kind = self.number("<I")
        if kind == STRING:
            return self.text()
        return self._array() if kind == ARRAY else self._scalar(self._layout(kind))

    def _array(self) -> Value | Length:
        kind, count = self.number("<I"), self.number("<Q")
        if kind == STRING:
            return self._summed_up(count)
        layout = self._layout(kind)
        if count > _MAX_KEPT_NUMBERS:
            self._skip(count * struct.calcsize(layout))
            return Length(count)
        layout = f"<{count}{layout[1]}"
        return struct.unpack(layout, self._bytes(struct.calcsize(layout)))

    def since(self, start: int) -> bytes:
        """Return the bytes from a position to here."""
        end = self.position
        self._file.seek(start)
        return self._bytes(end - start)

    def texts(self) -> list[bytes]:
        """Read a value that must be an array of strings, all of it."""
        kind, inner, count = self.number("<I"), self.number("<I"), self.number("<Q")
        if (kind, inner) != (ARRAY, STRING):
            raise Malformed("its tokens are not text")
        return list(self.strings(count))

    def integers(self) -> list[int]:
        """Read a value that must be an array of 32-bit integers, all of it."""
        kind, inner, count = self.number("<I"), self.number("<I"), self.number("<Q")
        if kind != ARRAY or inner not in _INTEGERS or count > _MAX_STRINGS:
            raise Malformed("the types of its tokens are not numbers")
        return list(struct.unpack(f"<{count}i", self._bytes(4 * count)))

    def _summed_up(self, count: int) -> Length:
        """Skip strings, and digest them."""
        start = self.position
        deque(self.strings(count), maxlen=0)
        return Length(count, self._digest(start, self.position))

    def strings(self, count: int) -> Iterator[bytes]:
        """Yield the strings of an array of `count`; the file ends up after them."""
        self._strings += count
        if self._strings > _MAX_STRINGS:
            raise Malformed(f"it claims {self._strings} strings")
        block, at = b"", 0
        for _ in range(count):  # in blocks: a vocabulary has 300,000, and its merges as many
            if len(block) - at < 8:
                block, at = self._more(block[at:], 8), 0
            end = at + 8 + _LENGTH.unpack_from(block, at)[0]
            if end > len(block):
                block, at, end = self._more(block[at:], end - at), 0, end - at
            yield block[at + 8 : end]
            at = end
        self._file.seek(at - len(block), os.SEEK_CUR)

    def _more(self, rest: bytes, needed: int) -> bytes:
        """Return the rest of a block and what follows it, at least `needed` bytes."""
        left = self.size - self.position
        if needed - len(rest) > left:
            raise Malformed("it ends inside its header")
        if needed > _MAX_KEPT_TEXT:
            raise Malformed("a string is too long")
        block = self._file.read(min(left, max(_BLOCK, needed)))
        self._take(len(block))
        return rest + block

    def _take(self, count: int) -> None:
        """Count bytes of text, and refuse more than any model has: sparse files can be huge."""
        self._text += count
        if self._text > _MAX_ALL_TEXT:
            raise Malformed(f"its header has more than {_MAX_ALL_TEXT >> 20} MB of text")

    def _digest(self, start: int, end: int) -> str:
        digest = hashlib.blake2b(digest_size=16)
        self._file.seek(start)
        while chunk := self._file.read(min(_BLOCK, end - self.position)):
            digest.update(chunk)
        return digest.hexdigest()

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
            raise Malformed("it ends inside its header")
        return data

    def _skip(self, count: int) -> None:
        if self.position + count > self.size:
            raise Malformed("it ends inside its header")
        self._file.seek(count, os.SEEK_CUR)
