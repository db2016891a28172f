"""Guessing: the least that any other source has to beat."""

from collections.abc import Sequence

import numpy as np

from assistant.decoding.row import everything
from assistant.decoding.sources.draft import Rows
from assistant.decoding.warp import Row, Warp


class RandomSource:
    """Propose any token of the vocabulary, all equally likely."""

    name = "random"

    def __init__(self, n_vocab: int) -> None:
        self._row = Row(everything(n_vocab), np.full(n_vocab, 1 / n_vocab))

    def read(self, tokens: Sequence[int]) -> None:
        """Do nothing: it knows all there is to know."""

    def offer(self, tokens: Sequence[int], room: int) -> Rows | None:
        """Offer a row, always."""
        return Rows(self.name)

    def row(self, tokens: Sequence[int], warp: Warp) -> tuple[Row, int]:
        """Return the uniform row, whatever the sampling is."""
        return self._row, 0
