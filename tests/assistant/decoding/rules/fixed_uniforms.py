"""Drafts of chosen tokens, and a stream of chosen uniform numbers."""

from collections.abc import Iterable, Sequence

from assistant.decoding.row import EMPTY, Row
from assistant.decoding.sources.draft import Draft, Proposal


class FixedUniforms:
    """A stream of uniform numbers that was chosen beforehand."""

    def __init__(self, *numbers: float) -> None:
        self.left = list(numbers)

    def random(self) -> float:
        return self.left.pop(0)


def draft_of(tokens: Sequence[int], rows: Iterable[Row], last: Row = EMPTY) -> Draft:
    """Return a draft of tokens and the rows that they were drawn from."""
    proposals = (Proposal(*each, "toy") for each in zip(tokens, rows, strict=True))
    return Draft(tuple(proposals), last)
