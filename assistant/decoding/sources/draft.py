"""A draft: its parts, the sources of its tokens, and the cascade that asks them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from assistant.decoding.mask import Mask, constrained_draft
from assistant.decoding.model import DraftFailed
from assistant.decoding.row import EMPTY, Ids, Row, one_hot
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
    pending: int = 1  # tokens to evaluate for the row


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

    def indices(self, ids: Ids) -> Ids:
        """Return the indices of the target's tokens in the logits of a row, without absent ones."""
        return ids

    def remember(self, tokens: Sequence[int], proposals: Sequence[Proposal]) -> None:
        """Note what all sources have proposed after `tokens`."""
        return


class Drafter(Protocol):
    """Makes drafts."""

    def propose(self, tokens: Sequence[int], plan: Plan, warp: Warp, draw: Draw) -> Draft:
        """Propose tokens to follow `tokens`."""


class Cascade:
    """Make drafts from `sources`, in the order in which they are offered to a plan.

    With a `mask`, nothing is proposed that it forbids.
    """

    def __init__(self, *sources: Source, mask: Mask | None = None) -> None:
        self.sources = {source.name: source for source in sources}
        self.failure: DraftFailed | None = None
        """The error that ended the last draft, if a source could not continue."""
        self._mask = mask

    def propose(self, tokens: Sequence[int], plan: Plan, warp: Warp, draw: Draw) -> Draft:
        """Propose what `plan` takes of the sources' offers, until a source fails.

        Proposals before a failure stay. Whether a row can be computed may depend on them, so a
        draft without them would be biased; it depends on no later token, so the draft may end.
        """
        self.failure = None
        if not plan.budget:
            return Draft()
        for source in self.sources.values():
            source.read(tokens)
        context, proposals = list(tokens), list[Proposal]()
        try:
            while plan.budget > 0 and (new := self._next(context, plan, warp, draw)):
                proposals += new
                context += (proposal.token for proposal in new)
        except DraftFailed as error:
            self.failure = error
        for source in self.sources.values():
            source.remember(tokens, proposals)
        return Draft(tuple(proposals))

    def _next(self, context: list[int], plan: Plan, warp: Warp, draw: Draw) -> list[Proposal]:
        offers = [self._offer(source, context, plan.budget) for source in self.sources.values()]
        match plan.next([offer for offer in offers if offer]):
            case Run(name, tokens, buckets):
                return [
                    Proposal(token, one_hot(token), name, bucket)
                    for token, bucket in zip(tokens, buckets, strict=True)
                ]
            case Rows(name) as rows:
                source = self.sources[name]
                draft_warp = constrained_draft(warp, self._mask, context, source.indices)
                row, bucket = source.row(context, draft_warp)
                if not len(row.ids):  # the draft lacks every token that the constraint allows
                    return []
                if plan.include(rows, bucket):
                    return [Proposal(draw(row, len(context)), row, name, bucket)]
        return []

    def _offer(self, source: Source, context: list[int], budget: int) -> Offer | None:
        """Return a source's offer; of a run, the part before a token that `mask` forbids."""
        offer = source.offer(context, budget)
        if self._mask is None or not isinstance(offer, Run):
            return offer
        allowed = self._mask.count_allowed(context, offer.tokens)
        return offer.first(allowed) if allowed else None
