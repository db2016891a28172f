"""Drawing from a row."""

from typing import Protocol

import numpy as np

from assistant.warp import Row


class Uniforms(Protocol):
    """A stream of uniform numbers in [0, 1), as `numpy.random.Generator` is."""

    def random(self) -> float:
        """Return the next one."""
        ...


def draw(row: Row, rng: Uniforms) -> int:
    """Draw one token by inverting the cumulative distribution.

    The mass of `row` need not be 1: it is drawn from as if normalised.
    """
    cumulative = np.cumsum(row.probs)
    index = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
    # The product may round up to the total.
    return int(row.ids[min(index, len(cumulative) - 1)])
