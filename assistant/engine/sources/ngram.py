"""Earlier answers as a draft source: the user's stored answers, then others.

The tables of what usually follows a few tokens are read in place from one file: a header with a
count, and two columns of that many 8-byte numbers, the keys, ascending, and the values. A key is a
hash of tokens. A value has, from its highest bits on, how often the most frequent token followed
them (16 bits), in how many percent of the cases (16 bits), and that token.
"""

import mmap
import struct
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from assistant.decoding.sources.draft import Run, Source
from models.files.disk import open_regular

LENGTHS = (4, 3, 2)  # of contexts, in tokens; longer ones are tried first
HEADER = struct.Struct("=24sQ")
MAGIC = b"specchat n-grams 1".ljust(24, b"\0")

USUAL = 80  # percent of the cases from which on a continuation is proposed
ALWAYS = 95
MIN_TIMES = 2  # how often a token must have followed
MAX_ENTRIES = 2_000_000  # entries, of 16 bytes each

_END = -1  # no token; separates answers
_MASK = 2**64 - 1
_FACTOR = 0x9E3779B97F4A7C15  # of Knuth's multiplicative hashing: 2^64 over the golden ratio

Column = npt.NDArray[np.uint64]


class Continuation(NamedTuple):
    """The token that most often followed some tokens."""

    token: int
    times: int  # how often it did
    percent: int  # of all that followed


class Tables:
    """The tables in `content`; empty ones if it holds none."""

    def __init__(self, content: bytes | mmap.mmap = b"") -> None:
        buffer = memoryview(content)
        count = _count(buffer)
        columns = buffer[HEADER.size : HEADER.size + 16 * count].cast("Q")
        self._keys, self._values = columns[:count], columns[count:]

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, context: Sequence[int]) -> Continuation | None:
        """Return what usually follows the last tokens of a context, as many of them as possible."""
        return next(filter(None, (self._find(context[-length:]) for length in LENGTHS)), None)

    def _find(self, context: Sequence[int]) -> Continuation | None:
        wanted = context_key(context)
        index = bisect_left(self._keys, wanted)
        if index == len(self) or self._keys[index] != wanted:
            return None
        value = self._values[index]
        return Continuation(value & 0xFFFFFFFF, value >> 48, (value >> 32) & 0xFFFF)


def open_tables(path: Path) -> Tables:
    """Return the tables of a file; empty ones if it is missing or cannot be read."""
    try:
        with open_regular(path) as file:
            return Tables(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):  # an empty file cannot be mapped
        return Tables()


def context_key(context: Sequence[Any]) -> Any:
    """Return the key of some tokens; of many at once, if each is an array of uint64."""
    result: Any = len(context)
    for token in context:
        result = (((result * _FACTOR) & _MASK) + token) & _MASK
        result = result ^ (result >> 32)
    return result


def _count(buffer: memoryview) -> int:
    """Return the number of keys; 0 if the content is incomplete or of another kind."""
    if len(buffer) < HEADER.size:
        return 0
    magic, count = HEADER.unpack_from(buffer)
    return int(count) if magic == MAGIC and len(buffer) == HEADER.size + 16 * count else 0


class NgramSource(Source):
    """Copy what usually followed the last tokens in the first tables that know them."""

    name = "ngram"

    def __init__(self, n_vocab: int, *tables: Tables) -> None:
        self._n_vocab = n_vocab
        self._tables = tables

    def offer(self, tokens: Sequence[int], budget: int) -> Run | None:
        """Offer up to `budget` tokens, as long as each is usual."""
        context = list(tokens[-max(LENGTHS) :])
        entries: list[Continuation] = []
        while len(entries) < budget and (entry := self._find(context)):
            if entry.percent < USUAL or entry.token >= self._n_vocab:
                break
            entries.append(entry)
            context = [*context[1:], entry.token]
        if not entries:
            return None
        tokens = tuple(entry.token for entry in entries)
        return Run(self.name, tokens, tuple(bucket_of(entry) for entry in entries))

    def _find(self, context: Sequence[int]) -> Continuation | None:
        return next(filter(None, (tables.find(context) for tables in self._tables)), None)


def bucket_of(entry: Continuation) -> int:
    """Return the bucket of an entry: 0 to 3 by its count, 4 to 7 if it is nearly always right."""
    often = min(entry.times.bit_length() - 2, 3)
    return often + 4 if entry.percent >= ALWAYS else often


def build_tables(answers: Iterable[Sequence[int]], limit: int = MAX_ENTRIES) -> bytes:
    """Return the content of a file of tables from `answers`; beyond `limit`, without the rarest."""
    tokens = chain.from_iterable((*answer, _END) for answer in answers)
    text = np.append(np.fromiter(tokens, np.int64), [_END] * (max(LENGTHS) + 1))
    keys, values = np.concatenate([_table(text, length) for length in LENGTHS], axis=1)
    chosen = np.argsort(values)[-limit:]
    chosen = chosen[np.argsort(keys[chosen])]
    return b"".join(
        (HEADER.pack(MAGIC, len(chosen)), keys[chosen].tobytes(), values[chosen].tobytes())
    )


def _table(text: npt.NDArray[np.int64], length: int) -> npt.NDArray[np.uint64]:
    """Return two rows, keys and values as in the file: what followed each `length` tokens."""
    windows = np.lib.stride_tricks.sliding_window_view(text, length + 1)
    windows = windows[(windows != _END).all(axis=1)]
    if not len(windows):
        return np.empty((2, 0), np.uint64)
    *context, following = windows.astype(np.uint64).T
    keys = context_key(context)
    order = np.lexsort((following, keys))
    keys, following = keys[order], following[order]
    starts = _starts(keys, following)  # of equal pairs of a context and the token after it
    counts = np.diff(starts, append=len(keys)).astype(np.uint64)
    keys, following = keys[starts], following[starts]
    starts = _starts(keys)  # of equal contexts
    best = np.maximum.reduceat((counts << 32) | following, starts)
    count, token = best >> 32, best & 0xFFFFFFFF
    percent = 100 * count // np.add.reduceat(counts, starts)
    values = (np.minimum(count, 0xFFFF) << 48) | (percent << 32) | token
    return np.stack([keys[starts], values])[:, count >= MIN_TIMES]


def _starts(*columns: Column) -> npt.NDArray[np.intp]:
    """Return the starts of runs of equal values in sorted columns."""
    new = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return np.flatnonzero(np.concatenate([[True], new]))
