"""The parts of a draft, and the sources of its tokens."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from assistant.decoding.warp import EMPTY, Row, Warp, one_hot

Draw = Callable[[Row, int], int]
"""Draws a token from a row for a position in the context, with a rule's randomness."""


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """A proposed token, the row it was drawn from, and which source proposed it."""

    token: int
    row: Row  # one-hot, when the source copies
    source: str
    evidence: int = 0  # how much speaks for it, from 0 on; what a step means is the source's affair


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """Proposals, and the row that was in force when the draft ended."""

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
    """A run of tokens that a source proposes together, at no cost."""

    source: str
    tokens: tuple[int, ...]
    evidence: tuple[int, ...]  # for each token, in the sense of `Proposal`
    certain: int = 0  # how many of the first tokens the target cannot reject

    def first(self, count: int) -> "Run":
        """Return its beginning."""
        certain = min(self.certain, count)
        return Run(self.source, self.tokens[:count], self.evidence[:count], certain)


@dataclass(frozen=True, slots=True)
class Rows:
    """A source that makes one row at a time, at a cost."""

    source: str
    unread: int = 0  # tokens that it has to read before the row is there, one at least


Offer = Run | Rows


class Plan(Protocol):
    """What one draft is made of, decided while it is made.

    Whether there is an i-th proposal, and from which source, may depend on everything known before
    that token is drawn, and on nothing after, or the output is biased. The tokens of a run are
    known beforehand and drawn from one-hot rows, so they may be looked at.
    """

    room: int  # how many proposals more there may be

    def next(self, offers: Sequence[Offer]) -> Offer | None:
        """Return the offer to take, a run shortened as wanted, or None to end the draft."""

    def include(self, rows: Rows, evidence: int) -> bool:
        """Say whether to draw from a row that was asked for, by the evidence it gives."""


class Fixed:
    """Propose a given number of tokens: from the first source that offers any, at each position."""

    def __init__(self, room: int) -> None:
        self.room = room

    def next(self, offers: Sequence[Offer]) -> Offer | None:
        """Take the first offer, as far as there is room."""
        match offers:
            case [Run() as run, *_]:
                taken = run.first(self.room)
                self.room -= len(taken.tokens)
                return taken
            case [Rows() as rows, *_]:
                self.room -= 1
                return rows
        return None

    def include(self, rows: Rows, evidence: int) -> bool:
        """Draw from every row."""
        return True


class Source(Protocol):
    """Where proposals come from."""

    @property
    def name(self) -> str:
        """What people call it."""

    def read(self, tokens: Sequence[int]) -> None:
        """Take in what has been decided: all tokens of the context so far."""

    def offer(self, tokens: Sequence[int], room: int) -> Offer | None:
        """Offer to continue `tokens`, the context and what is proposed already; None if it cannot.

        A run has 1 to `room` tokens.
        """

    def row(self, tokens: Sequence[int], warp: Warp) -> tuple[Row, int]:
        """Return the row of the token after `tokens`, and its evidence. Asked of `Rows` alone."""


class Drafter(Protocol):
    """Whatever makes drafts."""

    def propose(self, tokens: Sequence[int], plan: Plan, warp: Warp, draw: Draw) -> Draft:
        """Propose tokens to follow `tokens`."""


class Copying(ABC):
    """A source that says beforehand which tokens it proposes."""

    def read(self, tokens: Sequence[int]) -> None:  # noqa: B027 - not every copy needs it
        """Do nothing: most copies depend on the tokens that are to be continued alone."""

    @abstractmethod
    def offer(self, tokens: Sequence[int], room: int) -> Run | None:
        """Offer to continue `tokens` with up to `room` tokens; None if there is nothing to copy."""

    def row(self, tokens: Sequence[int], warp: Warp) -> tuple[Row, int]:
        """Return the one-hot row of the first token that it would offer, and its evidence."""
        run = self.offer(tokens, 1)
        return (one_hot(run.tokens[0]), run.evidence[0]) if run else (EMPTY, 0)
