"""Several sources in one draft: each position goes to the one that the plan prefers there."""

from collections.abc import Callable, Sequence
from time import perf_counter

from assistant.decoding.sources.draft import Draft, Draw, Plan, Proposal, Rows, Run, Source
from assistant.decoding.sources.model import MODELS
from assistant.decoding.sources.tail import TailSource
from assistant.decoding.warp import Warp, one_hot
from models.errors import DraftFailed


class Cascade:
    """Make drafts from `sources`, in the order in which they are offered to a plan."""

    def __init__(self, *sources: Source, clock: Callable[[], float] = perf_counter) -> None:
        self.sources = {source.name: source for source in sources}
        self.tables_s = 0.0
        """Seconds that rows of tables have taken so far; a model keeps its own account."""
        self.failure: DraftFailed | None = None
        """Why the last draft ended where it did, if a source could not continue."""
        self._clock = clock
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
        offers = [source.offer(context, plan.room) for source in self.sources.values()]
        match plan.next([offer for offer in offers if offer]) if plan.room > 0 else None:
            case Run(name, tokens, evidence):
                return [
                    Proposal(token, one_hot(token), name, each)
                    for token, each in zip(tokens, evidence, strict=True)
                ]
            case Rows(name) as rows:
                started = self._clock()
                row, seen = self.sources[name].row(context, warp)
                if name not in MODELS:
                    self.tables_s += self._clock() - started
                if plan.include(rows, seen):
                    return [Proposal(draw(row, len(context)), row, name, seen)]
        return []
