"""Learning tables from answers, whole columns at a time."""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from assistant.decoding.sources.ngram_tables import HEADER, LENGTHS, MAGIC, key

LEAST = 2  # times that a token must have followed; what was said once teaches nothing
MOST = 2_000_000  # entries, of 16 bytes each

_END = -1  # no token; stands between two answers, and behind the last

Column = npt.NDArray[np.uint64]


def learn(answers: Iterable[Sequence[int]], most: int = MOST) -> bytes:
    """Return the content of the tables' file: what followed what in `answers`.

    If there are more than `most` entries, those with the lowest counts are left out.
    """
    tokens = chain.from_iterable((*answer, _END) for answer in answers)
    text = np.append(np.fromiter(tokens, np.int64), [_END] * (max(LENGTHS) + 1))
    keys, values = np.concatenate([_table(text, length) for length in LENGTHS], axis=1)
    kept = np.argsort(values)[-most:]
    kept = kept[np.argsort(keys[kept])]
    return b"".join((HEADER.pack(MAGIC, len(kept)), keys[kept].tobytes(), values[kept].tobytes()))


def _table(text: npt.NDArray[np.int64], length: int) -> npt.NDArray[np.uint64]:
    """Return two rows, keys and values as in the file: what followed each `length` tokens."""
    windows = np.lib.stride_tricks.sliding_window_view(text, length + 1)
    windows = windows[(windows != _END).all(axis=1)]
    if not len(windows):
        return np.empty((2, 0), np.uint64)
    *context, following = windows.astype(np.uint64).T
    keys = key(context)
    order = np.lexsort((following, keys))
    keys, following = keys[order], following[order]
    pairs = _starts(keys, following)
    counts = np.diff(pairs, append=len(keys)).astype(np.uint64)
    keys, following = keys[pairs], following[pairs]
    contexts = _starts(keys)
    best = np.maximum.reduceat(counts << 32 | following, contexts)
    count, token = best >> 32, best & 0xFFFFFFFF
    percent = 100 * count // np.add.reduceat(counts, contexts)
    values = np.minimum(count, 0xFFFF) << 48 | percent << 32 | token
    return np.stack([keys[contexts], values])[:, count >= LEAST]


def _starts(*columns: Column) -> npt.NDArray[np.intp]:
    """Return where a new combination of values begins, in columns where equal ones are together."""
    new = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return np.flatnonzero(np.concatenate([[True], new]))
