"""Several sources in one draft: each position goes to the one that the plan prefers there."""

from collections.abc import Callable, Sequence
from time import perf_counter

from assistant.decoding.mask import Mask, constrained_draft
from assistant.decoding.model import DraftFailed
from assistant.decoding.sources.draft import Draft, Draw, Offer, Plan, Proposal, Rows, Run, Source
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.sources.tail import TailSource
from assistant.decoding.warp import Warp, one_hot


class Cascade:
    """Make drafts from `sources`, in the order in which they are offered to a plan.

    With a `mask`, nothing is proposed that it forbids.
    """

    def __init__(
        self, *sources: Source, mask: Mask | None = None, clock: Callable[[], float] = perf_counter
    ) -> None:
        self.sources = {source.name: source for source in sources}
        self.tables_s = 0.0
        """Seconds that rows of tables have taken so far; a model keeps its own account."""
        self.failure: DraftFailed | None = None
        """Why the last draft ended where it did, if a source could not continue."""
        self._mask, self._clock = mask, clock
        self._tails = [source for source in sources if isinstance(source, TailSource)]

    def propose(self, tokens: Sequence[int], plan: Plan, warp: Warp, draw: Draw) -> Draft:
        """Propose what `plan` takes of the sources' offers, until a source fails.

        What was proposed before a failure stays. Whether a row can be computed may depend on those
        tokens, so a draft without them would be biased; but it depends on no later one, so the
        draft may end there.
        """
        self.failure = None
        for source in self.sources.values():
            source.read(tokens)
        context, proposals = list(tokens), list[Proposal]()
        try:
            while new := self._next(context, plan, warp, draw):
                proposals += new
                context += (proposal.token for proposal in new)
        except DraftFailed as error:
            self.failure = error
        for tail in self._tails:
            tail.keep(tokens, proposals)
        return Draft(tuple(proposals))

    def _next(self, context: list[int], plan: Plan, warp: Warp, draw: Draw) -> list[Proposal]:
        offers = [self._offer(source, context, plan.room) for source in self.sources.values()]
        match plan.next([offer for offer in offers if offer]) if plan.room > 0 else None:
            case Run(name, tokens, evidence):
                return [
                    Proposal(token, one_hot(token), name, each)
                    for token, each in zip(tokens, evidence, strict=True)
                ]
            case Rows(name) as rows:
                started = self._clock()
                source = self.sources[name]
                placed = source.placed if isinstance(source, ModelSource) else None
                row, seen = source.row(
                    context, constrained_draft(warp, self._mask, context, placed)
                )
                if not isinstance(source, ModelSource):
                    self.tables_s += self._clock() - started
                if not len(row.ids):  # the draft lacks all that the form allows
                    return []
                if plan.include(rows, seen):
                    return [Proposal(draw(row, len(context)), row, name, seen)]
        return []

    def _offer(self, source: Source, context: list[int], room: int) -> Offer | None:
        """Return what a source offers, a run up to the first token that the form forbids.

        Its tokens are known beforehand, so they may be looked at.
        """
        offer = source.offer(context, room)
        if self._mask is None or not isinstance(offer, Run):
            return offer
        fits = self._mask.fitting(context, offer.tokens)
        return offer.first(fits) if fits else None
