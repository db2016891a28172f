"""Drafts and uniforms that were chosen beforehand, and what is known of acceptance."""

from collections.abc import Iterable, Mapping, Sequence

from assistant.decoding.row import EMPTY, Row
from assistant.decoding.sources.draft import Draft, Proposal


class Given:
    """A stream of uniform numbers that was chosen beforehand."""

    def __init__(self, *numbers: float) -> None:
        self.left = list(numbers)

    def random(self) -> float:
        return self.left.pop(0)


def drafted(tokens: Sequence[int], rows: Iterable[Row], last: Row = EMPTY) -> Draft:
    """Return a draft of tokens and the rows that they were drawn from."""
    proposals = (Proposal(*each, "toy") for each in zip(tokens, rows, strict=True))
    return Draft(tuple(proposals), last)


def coupled_acceptance(target: Mapping[int, float], draft: Mapping[int, float]) -> float:
    """Return how likely the coupled rule draws the same token from two rows.

    Token j is drawn from both if it is first in both races, which it wins with
    probability 1 / (sum over i of max(target(i) / target(j), draft(i) / draft(j))).
    """

    def behind(j: int) -> float:
        return sum(
            max(target.get(i, 0) / target[j], draft.get(i, 0) / draft[j])
            for i in target.keys() | draft.keys()
        )

    return sum(1 / behind(j) for j in target.keys() & draft.keys())
