"""Hidden states of a target's tokens, which its prediction heads read."""

from typing import Any

import numpy as np

from models.base import Logits
from models.native.engine import HeadFunctions


class States:
    """The hidden states of a context's tokens: a row for each token where it is known.

    Args:
        functions: the library's.
        context: the context that computes them.
        n_ctx: tokens to make room for; the memory is taken as it is filled.
        width: numbers in a row.
    """

    def __init__(self, functions: HeadFunctions, context: Any, n_ctx: int, width: int) -> None:
        self.width = width
        self._functions, self._context = functions, context
        self._rows = np.zeros((n_ctx, width), np.float32)
        self._start = self._end = 0

    def known(self, length: int) -> range:
        """Return the positions below `length` whose states are known."""
        return range(self._start, max(self._start, min(self._end, length)))

    def at(self, positions: range) -> Logits:
        """Return the states of positions, shape (positions, width)."""
        return self._rows[positions.start : positions.stop]

    def take(self, first: int, count: int) -> None:
        """Store the states of an evaluated batch of `count` tokens, the first at a position."""
        self._start = min(self._start, first) if first <= self._end else first
        self._end = first + count
        pointer = self._functions.states(self._context)
        self._rows[first : self._end] = np.ctypeslib.as_array(pointer, shape=(count, self.width))

    def forget(self) -> None:
        """Drop all states."""
        self._start = self._end = 0
