"""Random numbers by seed, position and token."""

import numpy as np
import numpy.typing as npt

from assistant.decoding.row import Ids, Probs

Words = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_BELOW = np.nextafter(2.0**-53, 0)
"""Scales words of 53 bits. Rounding would make the largest of them 1 with 2^-53 itself."""
_30, _27, _31, _11 = (np.uint64(bits) for bits in (30, 27, 31, 11))


class Noise:
    """Exponential numbers, as good as independent. A seed counts modulo 2 ** 64."""

    def __init__(self, seed: int) -> None:
        self._seed = _mixed(np.array([seed % 2**64], np.uint64))

    def exponentials(self, position: int, ids: Ids) -> Probs:
        """Return the positive numbers of some tokens at a position: P(E > x) = exp(-x)."""
        words = _mixed(ids.astype(np.uint64) * _GOLDEN + _mixed(self._seed + np.uint64(position)))
        words >>= _11
        exponentials: Probs = -np.log((words + 0.5) * _BELOW)
        return exponentials


def _mixed(words: Words) -> Words:
    """Return the numbers that SplitMix64 makes of its states.

    Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number Generators", figure 14.
    """
    words = words + _GOLDEN
    words ^= words >> _30
    words *= _FIRST
    words ^= words >> _27
    words *= _SECOND
    words ^= words >> _31
    return words
