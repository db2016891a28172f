"""The coupled rule: with a seed, the same text however it was drafted.

Daliri, Musco and Suresh 2024, "Coupling without Communication and Drafter-Invariant Speculative
Decoding", arXiv 2408.07978, algorithm 2.

Each token has an exponential number E of its own at each position, fixed by the seed. A draw from
a row is the token with the greatest row(x) / E(x). The rate of E / row(x) is row(x), so token x is
the first of them all with probability row(x): a race of exponentials, or the Gumbel-max trick.

The target draws from its own row with the same numbers, and a proposal is accepted if it is the
token that the target draws. So the output is the target's draw at every position, which does not
depend on the draft. Since draft and target draw with the same numbers, similar rows mostly draw the
same token: with probability (1 - TV) / (1 + TV) at least, where the token rule accepts 1 - TV, the
overlap of the rows.
"""

from collections.abc import Iterable
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from assistant.decoding.row import Ids, Probs, Row
from assistant.decoding.rules.rule import Verdict, missing_rows
from assistant.decoding.sources.draft import Draft

Words = npt.NDArray[np.uint64]

BLOCK = 16_384  # tokens whose numbers fit in the cache together
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SCALE = np.nextafter(2.0**-53, 0)
"""Scales words of 53 bits. Rounding would make the largest of them 1 with 2^-53 itself."""
_30, _27, _31, _11 = (np.uint64(bits) for bits in (30, 27, 31, 11))


class Noise:
    """Pseudorandom exponential numbers. A seed counts modulo 2 ** 64."""

    def __init__(self, seed: int) -> None:
        self._seed = _mix(np.array([seed % 2**64], np.uint64))

    def exponentials(self, position: int, ids: Ids) -> Probs:
        """Return the positive numbers of some tokens at a position: P(E > x) = exp(-x)."""
        words = _mix(ids.astype(np.uint64) * _GOLDEN + _mix(self._seed + np.uint64(position)))
        words >>= _11
        exponentials: Probs = -np.log((words + 0.5) * _SCALE)
        return exponentials


def _mix(words: Words) -> Words:
    """Return the numbers that SplitMix64 makes of its states.

    Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number Generators", figure 14.
    """
    words = words + _GOLDEN
    words ^= words >> _30
    words *= _MIX_1
    words ^= words >> _27
    words *= _MIX_2
    words ^= words >> _31
    return words


class CoupledRule:
    """Draw by numbers that belong to the position, so that similar rows draw the same token."""

    def __init__(self, seed: int) -> None:
        self._noise = Noise(seed)

    def draw(self, row: Row, position: int) -> int:
        """Draw the token of `position`; the lowest id among equals."""
        starts = range(0, len(row.ids), BLOCK)
        best = (self._best(row, slice(start, start + BLOCK), position) for start in starts)
        return max(best, key=itemgetter(0))[1]

    def _best(self, row: Row, block: slice, position: int) -> tuple[float, int]:
        """Return the best score in a block, and its token."""
        ids = row.ids[block]
        scores = row.probs[block] / self._noise.exponentials(position, ids)
        best = np.argmax(scores)
        return scores[best], int(ids[best])

    def verify(self, draft: Draft, target_rows: Iterable[Row], position: int) -> Verdict:
        """Accept the proposals that the target draws too; no uniform is used.

        `target_rows` are read only up to the first rejection. The token that replaces it is drawn
        from the target's own row at that position.
        """
        read: list[Row] = []
        for token, target in zip([*draft.tokens, None], target_rows, strict=False):
            if token is None or self.draw(target, position + len(read)) != token:
                uniforms = (None,) * min(len(read) + 1, len(draft.proposals))
                return Verdict(len(read), target, (*read, target), uniforms)
            read.append(target)
        raise missing_rows(draft)
