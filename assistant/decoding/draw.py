"""Drawing from a row."""

from typing import Protocol

import numpy as np

from assistant.decoding.row import Probs, Row

BLOCK = 512
LONG = 8 * BLOCK  # from here on it is cheaper to find the block first, then the place in it


class Uniforms(Protocol):
    """A stream of uniform numbers in [0, 1), as `numpy.random.Generator` is."""

    def random(self) -> float:
        """Return the next one."""
        ...


def draw(row: Row, rng: Uniforms) -> int:
    """Draw one token by inverting the cumulative distribution.

    The mass of `row` need not be 1: it is drawn from as if normalised.
    """
    return int(row.ids[_place(row.probs, rng.random())])


def _place(probs: Probs, uniform: float) -> int:
    """Return where the cumulative distribution passes `uniform` of its total."""
    if len(probs) < LONG:
        cumulative = np.cumsum(probs)
        return _passes(cumulative, uniform * cumulative[-1])
    cumulative = np.cumsum(np.add.reduceat(probs, np.arange(0, len(probs), BLOCK)))
    point = uniform * cumulative[-1]
    block = _passes(cumulative, point)
    before = cumulative[block - 1] if block else 0.0
    start = block * BLOCK
    return start + _passes(np.cumsum(probs[start : start + BLOCK]), point - before)


def _passes(cumulative: Probs, point: float) -> int:
    # A rounded point may be at the end itself.
    return min(int(np.searchsorted(cumulative, point, side="right")), len(cumulative) - 1)
