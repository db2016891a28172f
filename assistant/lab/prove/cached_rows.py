"""Rows that are computed once: answers that begin alike cost no evaluation of their own."""

from collections.abc import Sequence

from assistant.decoding.sources.draft import Rows, Run, Source
from assistant.decoding.warp import Row, Warp
from models.base import Model


class RecallingTarget:
    """A target whose rows are warped where they are computed, and kept.

    What was computed in a batch is given for the same batch alone: the same tokens, as wide.
    """

    def __init__(self, model: Model, warp: Warp) -> None:
        self._model, self._warp = model, warp
        self._known: dict[tuple[int, tuple[int, ...]], list[Row]] = {}
        self.evaluations = 0
        """How many there were indeed."""

    def logits(self, tokens: Sequence[int], rows: int = 1) -> list[Row]:
        """Return rows in place of logits; to be warped by `as_it_is`."""
        key = rows, tuple(tokens)
        if key not in self._known:
            self.evaluations += 1
            self._known[key] = [
                self._warp(row, tokens[: len(tokens) - rows + 1 + i])
                for i, row in enumerate(self._model.logits(tokens, rows))
            ]
        return self._known[key]


def as_it_is(row: Row, _history: Sequence[int]) -> Row:
    """Return a row that is warped already."""
    return row


class RecallingSource:
    """A source of rows that keeps those it gave."""

    def __init__(self, source: Source, warp: Warp) -> None:
        self._source, self._warp = source, warp
        self._known: dict[tuple[int, ...], tuple[Row, int]] = {}

    @property
    def name(self) -> str:
        """That of the source."""
        return self._source.name

    def read(self, tokens: Sequence[int]) -> None:
        """Have the source read."""
        self._source.read(tokens)

    def offer(self, tokens: Sequence[int], room: int) -> Rows | Run | None:
        """Return what the source offers."""
        return self._source.offer(tokens, room)

    def row(self, tokens: Sequence[int], _warp: Warp) -> tuple[Row, int]:
        """Return a row as the source warps it."""
        key = tuple(tokens)
        if key not in self._known:
            self._known[key] = self._source.row(tokens, self._warp)
        return self._known[key]
