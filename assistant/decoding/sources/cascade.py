"""Several sources in one draft: the plan chooses one of them for each position."""

from collections.abc import Sequence

from assistant.decoding.mask import Mask, constrained_draft
from assistant.decoding.model import DraftFailed
from assistant.decoding.row import one_hot
from assistant.decoding.sources.draft import Draft, Draw, Offer, Plan, Proposal, Rows, Run, Source
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.sources.suffix import TailSource
from assistant.decoding.warp import Warp


class Cascade:
    """Make drafts from `sources`, in the order in which they are offered to a plan.

    With a `mask`, nothing is proposed that it forbids.
    """

    def __init__(self, *sources: Source, mask: Mask | None = None) -> None:
        self.sources = {source.name: source for source in sources}
        self.failure: DraftFailed | None = None
        """The error that ended the last draft, if a source could not continue."""
        self._mask = mask
        self._tails = [source for source in sources if isinstance(source, TailSource)]

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
            while new := self._next(context, plan, warp, draw):
                proposals += new
                context += (proposal.token for proposal in new)
        except DraftFailed as error:
            self.failure = error
        for tail in self._tails:
            tail.remember(tokens, proposals)
        return Draft(tuple(proposals))

    def _next(self, context: list[int], plan: Plan, warp: Warp, draw: Draw) -> list[Proposal]:
        offers = [self._offer(source, context, plan.budget) for source in self.sources.values()]
        match plan.next([offer for offer in offers if offer]) if plan.budget > 0 else None:
            case Run(name, tokens, buckets):
                return [
                    Proposal(token, one_hot(token), name, bucket)
                    for token, bucket in zip(tokens, buckets, strict=True)
                ]
            case Rows(name) as rows:
                source = self.sources[name]
                indices = source.indices if isinstance(source, ModelSource) else None
                draft_warp = constrained_draft(warp, self._mask, context, indices)
                row, bucket = source.row(context, draft_warp)
                if not len(row.ids):  # the draft lacks every token that the constraint allows
                    return []
                if plan.include(rows, bucket):
                    return [Proposal(draw(row, len(context)), row, name, bucket)]
        return []

    def _offer(self, source: Source, context: list[int], budget: int) -> Offer | None:
        """Return a source's offer, a run up to the first token that the constraint forbids."""
        offer = source.offer(context, budget)
        if self._mask is None or not isinstance(offer, Run):
            return offer
        fits = self._mask.fitting(context, offer.tokens)
        return offer.first(fits) if fits else None
