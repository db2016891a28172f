"""What usually follows a few tokens: tables in one file, looked up where they lie.

The file is a header and two columns of as many 8-byte numbers as it says: the keys, ascending, and
the values. A key is a hash of tokens. A value has, from its highest bits on, how often the most
frequent token followed them (16 bits), in how many of 100 cases it did (16 bits), and that token.
"""

import mmap
import struct
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

LENGTHS = (4, 3, 2)  # tokens before the one that follows, the most telling first
HEADER = struct.Struct("=24sQ")
MAGIC = b"specchat n-grams 1".ljust(24, b"\0")

_MASK = 2**64 - 1
_FACTOR = 0x9E3779B97F4A7C15  # of Knuth's multiplicative hashing: 2^64 over the golden ratio


class Continuation(NamedTuple):
    """What followed some tokens most often."""

    token: int
    times: int  # how often it did
    percent: int  # of all that followed


class Tables:
    """The tables in `content`; empty ones if it holds none."""

    def __init__(self, content: bytes | mmap.mmap = b"") -> None:
        whole = memoryview(content)
        count = _count(whole)
        columns = whole[HEADER.size : HEADER.size + 16 * count].cast("Q")
        self._keys, self._values = columns[:count], columns[count:]

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, context: Sequence[int]) -> Continuation | None:
        """Return what usually follows the last tokens of a context, as many as are known."""
        return next(filter(None, (self._find(context[-length:]) for length in LENGTHS)), None)

    def _find(self, context: Sequence[int]) -> Continuation | None:
        wanted = key(context)
        place = bisect_left(self._keys, wanted)
        if place == len(self) or self._keys[place] != wanted:
            return None
        value = self._values[place]
        return Continuation(value & 0xFFFFFFFF, value >> 48, value >> 32 & 0xFFFF)


def opened(path: Path) -> Tables:
    """Return the tables of a file; empty ones if there is none, or none that can be read."""
    try:
        with path.open("rb") as file:
            return Tables(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):  # an empty file cannot be mapped
        return Tables()


def key(context: Sequence[Any]) -> Any:
    """Return the key of some tokens; of many at once, if each is an array of uint64."""
    result: Any = len(context)
    for token in context:
        result = (result * _FACTOR & _MASK) + token & _MASK
        result = result ^ (result >> 32)
    return result


def _count(whole: memoryview) -> int:
    """Return how many keys there are; 0 if the content is not whole, or something else."""
    if len(whole) < HEADER.size:
        return 0
    magic, count = HEADER.unpack_from(whole)
    return int(count) if magic == MAGIC and len(whole) == HEADER.size + 16 * count else 0
