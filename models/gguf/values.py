"""Opens GGUF files, refuses others with the reason, and reads their primitive values.

Memory and time are bounded: a header is read from its start, as far as it is needed, and refused
if it is longer than that of any model.
"""

import hashlib
import os
import struct
from array import array
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from models.errors import ModelError, ModelMissing
from models.files.disk import IrregularFile, open_regular

Value = int | float | bool | str | tuple[int | float | bool, ...]

# How struct reads the scalar types, by their number; 8 and 9 are strings and arrays.
_SCALARS = dict(
    enumerate(("<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?", "", "", "<Q", "<q", "<d"))
)
STRING, ARRAY = 8, 9
_INTEGERS = (4, 5)
_MAX_VALUES = 10_000
_MAX_TENSORS = 65_536
_MAX_HEADER = 64 << 20  # bytes; those of known models have up to 17
_MAX_KEY = 1024
_MAX_KEPT_TEXT = 1 << 20  # longer ones are skipped: no template or name is
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
    """A GGUF file, or a part of one, as a sequence of values."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.size, self.position = size, 0
        self._file = file
        self._data = b""  # from the start of the file
        self._claimed = 0  # strings

    def number(self, layout: str) -> int:
        """Read one integer."""
        return int(self._scalars(layout, 1)[0])

    def count(self, what: str, limit: int) -> int:
        """Read a 64-bit count that must not exceed `limit`."""
        count = self.number("<Q")
        if count > limit:
            raise Malformed(f"it claims {count} {what}")
        return count

    def text(self, longest: int = _MAX_HEADER) -> str | Length:
        """Read a string, or its length alone if it is too long to keep."""
        length = self.count("bytes of text in one place", longest)
        start = self._advance(length)
        if length > _MAX_KEPT_TEXT:
            return Length(length)
        return self._data[start : self.position].decode("utf-8", "replace")

    def keys(self, count: int) -> Iterator[str]:
        """Yield the keys of `count` values; the caller reads each value before the next key."""
        for _ in range(count):
            yield str(self.text(_MAX_KEY))

    def value(self) -> Value | Length:
        """Read a value and the type before it."""
        kind = self.number("<I")
        if kind == STRING:
            return self.text()
        return self._array() if kind == ARRAY else self._scalars(self._layout(kind), 1)[0]

    def _array(self) -> Value | Length:
        kind, count = self.number("<I"), self.number("<Q")
        if kind == STRING:
            start = self.position
            deque(self._strings(count), maxlen=0)
            content = memoryview(self._data)[start : self.position]
            return Length(count, hashlib.blake2b(content, digest_size=16).hexdigest())
        layout = self._layout(kind)
        if count > _MAX_KEPT_NUMBERS:
            self._advance(count * struct.calcsize(layout))
            return Length(count)
        return self._scalars(layout, count)

    def since(self, start: int) -> bytes:
        """Return the bytes from a position to here."""
        return self._data[start : self.position]

    def texts(self) -> list[bytes]:
        """Read a value that must be an array of strings, all of it."""
        if (self.number("<I"), self.number("<I")) != (ARRAY, STRING):
            raise Malformed("its tokens are not text")
        return [self._data[start:end] for start, end in self._strings(self.number("<Q"))]

    def integers(self) -> list[int]:
        """Read a value that must be an array of 32-bit integers, all of it."""
        kind, inner, count = self.number("<I"), self.number("<I"), self.number("<Q")
        if kind != ARRAY or inner not in _INTEGERS or count > _MAX_STRINGS:
            raise Malformed("the types of its tokens are not numbers")
        start = self._advance(4 * count)
        return array("i", self.since(start)).tolist()

    def _strings(self, count: int) -> Iterator[tuple[int, int]]:
        """Yield the start and the end of each of `count` strings."""
        self._claimed += count
        if self._claimed > _MAX_STRINGS:
            raise Malformed(f"it claims {self._claimed} strings")
        data, end = self._data, self.position
        for _ in range(count):  # a vocabulary has 300,000, and its merges as many
            start = end + 8
            if start > len(data):
                data = self._read_to(start)
            end = start + _LENGTH.unpack_from(data, end)[0]
            if end > len(data):
                data = self._read_to(end)
            yield start, end
        self.position = end

    def _scalars(self, layout: str, count: int) -> tuple[int | float | bool, ...]:
        start = self._advance(count * struct.calcsize(layout))
        return struct.unpack_from(f"<{count}{layout[1]}", self._data, start)

    def _layout(self, kind: int) -> str:
        if layout := _SCALARS.get(kind):
            return layout
        raise Malformed(f"a value has the unknown type {kind}")

    def _advance(self, count: int) -> int:
        """Return the start of the next `count` bytes, and move after them."""
        start = self.position
        self.position += count
        if self.position > len(self._data):
            self._read_to(self.position)
        return start

    def _read_to(self, end: int) -> bytes:
        """Read up to `end`, in pieces that double, and return everything read so far."""
        if end > _MAX_HEADER and end <= self.size:
            raise Malformed(f"its header has more than {_MAX_HEADER >> 20} MB")
        if end <= self.size:
            self._data += self._file.read(max(end - len(self._data), len(self._data), _BLOCK))
        if end > len(self._data):
            raise Malformed("it ends inside its header")
        return self._data


_PICKLES = (
    *(b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
    *(b"(lp0\n", b"(dp0\n", b"ccopy_reg\n", b"c__builtin__\n", b"]q\0", b"}q\0"),
)
_KINDS: tuple[tuple[bytes | tuple[bytes, ...], str], ...] = (
    (b"version https://git-lfs", "a git-lfs pointer, not the file it points to; run: git lfs pull"),
    (b"PK\x03\x04", "a zip archive (a PyTorch checkpoint?), and specchat reads GGUF only"),
    (_PICKLES, "a Python pickle, and specchat reads GGUF only"),
    ((b"\x7fELF", b"MZ"), "a program; if it is a llamafile, look for a GGUF of the model"),
    (b"\x1f\x8b", "compressed with gzip; unpack it first"),
    ((b"GGML", b"lmgg", b"tjgg"), "in the old GGML format; look for a GGUF of the model"),
    (b"FUGG", "a big-endian GGUF, which this machine cannot run"),
)


@contextmanager
def open_stream(path: Path) -> Iterator[tuple[Stream, int, int]]:
    """Open a GGUF file after its counts of tensors and of values, and return both; a `ModelError`
    says what is wrong.
    """
    try:
        with open_regular(path) as file:
            start = os.pread(file.fileno(), 512, 0)
            if start[:4] != b"GGUF":
                raise ModelError(f"{path} is {_kind(start)}.")
            stream = Stream(file, os.fstat(file.fileno()).st_size)
            _, version = stream.number("<I"), stream.number("<I")
            if version not in (2, 3):
                reads = "specchat reads versions 2 and 3"
                raise ModelError(f"{path} is GGUF version {version}; {reads}.")
            tensors = stream.count("tensors", _MAX_TENSORS)
            yield stream, tensors, stream.count("values", _MAX_VALUES)
    except Malformed as error:
        raise ModelError(f"{path} is damaged: {error}. Fetch it again.") from error
    except IrregularFile as error:
        raise ModelError(f"{path} is not a file; give the path of a .gguf file.") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelMissing(f"There is no file {path}.") from error
    except ValueError as error:  # a null character in the path
        raise ModelError(f"{str(path)!r} cannot be read: {error}.") from error
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}.") from error


def _kind(start: bytes) -> str:
    if not start:
        return "empty; fetch it again"
    for magic, kind in _KINDS:
        if start.startswith(magic):
            return kind
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype", b"<html", b"<head", b"<?xml")):
        return "a web page, not a model; the download went wrong, fetch it again"
    if start[8:9] == b"{":
        return "a safetensors file, and specchat reads GGUF only"
    if text.startswith(b"{"):
        return "a JSON file, not a model; the download may have gone wrong"
    return "not a GGUF file; its first bytes are not 'GGUF'"
