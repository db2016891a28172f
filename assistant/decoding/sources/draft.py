"""The parts of a draft, and the sources of its tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from assistant.decoding.row import EMPTY, Row
from assistant.decoding.warp import Warp

Draw = Callable[[Row, int], int]
"""Draws a token from a row for a position in the context, with a rule's randomness."""


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """A proposed token, the row it was drawn from, and which source proposed it."""

    token: int
    row: Row  # one-hot, when the source copies
    source: str
    bucket: int = 0  # of confidence, 0 is the lowest; the source defines the buckets


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """Proposals, and the row from which the token after them would have been drawn."""

    proposals: tuple[Proposal, ...] = ()
    last: Row = EMPTY

    @property
    def tokens(self) -> tuple[int, ...]:
        """The proposed tokens."""
        return tuple(proposal.token for proposal in self.proposals)

    @property
    def rows(self) -> tuple[Row, ...]:
        """One row for each token, and the last one."""
        return (*(proposal.row for proposal in self.proposals), self.last)


@dataclass(frozen=True, slots=True)
class Run:
    """An offer of several tokens that a source copies, at no cost."""

    source: str
    tokens: tuple[int, ...]
    buckets: tuple[int, ...]  # of confidence, one for each token, as in `Proposal`
    certain: int = 0  # how many of the first tokens the target cannot reject

    def first(self, count: int) -> "Run":
        """Return the first `count` tokens."""
        certain = min(self.certain, count)
        return Run(self.source, self.tokens[:count], self.buckets[:count], certain)


@dataclass(frozen=True, slots=True)
class Rows:
    """An offer of one row, from which a token is drawn, at the cost of an evaluation."""

    source: str
    pending: int = 0  # tokens to evaluate for the row: of a draft model at least one


Offer = Run | Rows


class Plan(Protocol):
    """Decides on the parts of one draft while it is made.

    Whether there is an i-th proposal, and from which source, may depend on everything known before
    that token is drawn, and on nothing after, or the output is biased. The tokens of a run are
    known beforehand and drawn from one-hot rows, so a plan may depend on them.
    """

    budget: int  # how many more proposals there may be

    def next(self, offers: Sequence[Offer]) -> Offer | None:
        """Return the offer to take, possibly a shorter run, or None to end the draft."""

    def include(self, rows: Rows, bucket: int) -> bool:
        """Return whether to draw from a row that was computed, given its confidence bucket."""


class Source(Protocol):
    """Where proposals come from. One that copies needs no more than a name and `offer`."""

    name: str  # in settings and stats

    def read(self, tokens: Sequence[int]) -> None:
        """Update the source with the context: the tokens that are final."""
        return  # many depend only on the tokens that they are to continue

    def offer(self, tokens: Sequence[int], budget: int) -> Offer | None:
        """Offer to continue the context and earlier proposals, `tokens`; None if it cannot.

        A run has 1 to `budget` tokens.
        """

    def row(self, tokens: Sequence[int], warp: Warp) -> tuple[Row, int]:
        """Return the row after `tokens` and its bucket; called only if `Rows` were offered."""
        return EMPTY, 0


class Drafter(Protocol):
    """Makes drafts."""

    def propose(self, tokens: Sequence[int], plan: Plan, warp: Warp, draw: Draw) -> Draft:
        """Propose tokens to follow `tokens`."""
