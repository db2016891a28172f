"""Plan, draft, verify, observe: round after round, for one answer or several in one batch.

Several answers to one request share each evaluation of the target. Each is drafted and verified
with randomness of its own. The length of a draft may depend on the other drafts of the round, as it
may on anything known before a token is drawn (see `sources.draft.Plan`). So the answers are
independent samples of the target.

The batch already has a row for each answer, so a proposal is one more row in a wide batch and pays
less often than with a single answer. A draft model would need a batch of that width for every token
that it proposes, so several answers are drafted without it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple, Protocol, cast

from assistant.decoding.lookahead.controller import RoundCost
from assistant.decoding.lookahead.throughput_plan import BatchContext, ThroughputPlan
from assistant.decoding.loops import Round, verified
from assistant.decoding.mask import NothingAllowed
from assistant.decoding.model import DraftFailed, Logits, Model, most_proposals
from assistant.decoding.sources.draft import Draft, Fixed, Plan
from assistant.decoding.warp import Warp
from assistant.engine.decoding_sequence import DecodingSequence
from assistant.engine.policy import Policy
from assistant.events import Forecast, Noticed, Prefilled, Role, Stop
from models.base import SequenceTokens
from models.errors import Cancelled, ModelError, UsageError

PREFILL_CHUNK = 256  # tokens between two reports of progress
SILENT_PREFILL = 64  # tokens of a draft's prefill that are not worth a report


class MultiSequenceModel(Model, Protocol):
    """A model that holds several texts side by side, and their common beginning only once.

    For each of them the cache is only a cache. The first text is the one that `logits` uses.
    """

    most_texts: int
    """How many texts it holds; 1 if it cannot hold several."""

    def logits_of(self, texts: Mapping[int, SequenceTokens]) -> dict[int, Logits]:
        """Return the logits of some texts, numbered from 0, from one evaluation of the model.

        A text that is no longer asked for is kept while there is room. Shapes and errors are those
        of `logits`; `ContextFull` is also raised if the texts do not fit together.
        """
        ...

    def settle(self, tokens: Sequence[int]) -> None:
        """Continue with one text: the one that has most in common with `tokens`."""
        ...


class PlannedDraft(NamedTuple):
    """The draft of one answer in a round, with the plan that limited it."""

    sequence: DecodingSequence
    plan: Plan
    draft: Draft


class SequenceRound(NamedTuple):
    """One answer's part of a round, and what its plan expected of it."""

    sequence: DecodingSequence
    round: Round
    forecast: Forecast


class Rounds:
    """Decode one or several answers to the same prompt; each round appends to their tokens.

    Args:
        target: a `MultiSequenceModel` if there is more than one answer.
        sequences: the answers, whose tokens all begin with the prompt.
        policy: decides what a round proposes; asked once for each evaluation.
        warp: how logits become rows, before forms and forced tokens.
        clock: seconds, by which rounds are timed.
    """

    def __init__(
        self,
        target: Model,
        sequences: Sequence[DecodingSequence],
        policy: Policy,
        warp: Warp,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._target, self._sequences = target, sequences
        self._policy, self._warp, self._clock = policy, warp, clock
        self._prompt = len(sequences[0].tokens)
        if policy.controller:
            policy.controller.begin()

    def __iter__(self) -> Iterator[SequenceRound | Prefilled | Noticed]:
        """Yield rounds, progress of the draft's prefill and notices until all answers have ended.

        An answer ends when its `stop` is set: by the consumer of its rounds, or here when it has
        used its share of the context. The context that an ended answer leaves is shared again.

        Raises:
            Cancelled: the user stopped it; the tokens hold every completed round.
            ModelError: the target cannot continue.
        """
        while live := self._live():
            policy = self._policy.now()
            if policy.control.cancel.raised:
                raise Cancelled
            if len(self._sequences) == 1 and live[0].speculates(policy):
                try:
                    yield from self._prefill(live[0], policy)
                except DraftFailed as error:
                    yield live[0].without_model(error)
                    continue
            yield from self._round(live, policy)
            for each in live:
                if each.drafter.failure and each.answer.stop is None:
                    yield each.without_model(each.drafter.failure)

    def _live(self) -> list[DecodingSequence]:
        """Stop answers that have used up their context; return the others, the shortest first.

        The first to be drafted takes the cheaper rows of the batch.
        """
        live = [each for each in self._sequences if each.answer.stop is None]
        limit = self._limit
        for each in live:
            if len(each.tokens) >= limit:
                each.answer.stop = Stop.CONTEXT
        unfinished = (each for each in live if each.answer.stop is None)
        return sorted(unfinished, key=lambda each: len(each.tokens))

    @property
    def _limit(self) -> int:
        """Most tokens of a sequence: unfinished answers share the context after the prompt."""
        stops = [each.answer.stop for each in self._sequences]
        unfinished = stops.count(None) + stops.count(Stop.CONTEXT)
        return self._prompt + (self._target.n_ctx - self._prompt) // max(1, unfinished)

    def _round(self, live: Sequence[DecodingSequence], policy: Policy) -> Iterator[SequenceRound]:
        draft_s, tables_s, started = *_spent(live), self._clock()
        reevaluated = self._reevaluated(live)
        if policy.controller:
            policy.controller.at(len(live[0].tokens))
        drafts = self._drafts(live, policy, reevaluated)
        rounds = self._verified(drafts)
        seconds, spent = self._clock() - started, _spent(live)
        forecasts = [Forecast(each.reason(policy, plan)) for each, plan, _ in drafts]
        if controller := policy.controller:
            plans = [plan for _, plan, _ in drafts]
            observed = list(zip(rounds, plans, strict=True))
            spent_s = spent[0] - draft_s, spent[1] - tables_s
            controller.observe(RoundCost(observed, seconds, *spent_s, reevaluated))
            if len(self._sequences) == 1:
                forecasts = [controller.forecast(forecasts[0].reason, plans[0])]
        for (sequence, _, _), round_, forecast in zip(drafts, rounds, forecasts, strict=True):
            yield SequenceRound(sequence, round_, forecast)

    def _reevaluated(self, live: Sequence[DecodingSequence]) -> int:
        """Return how many tokens a target that rolls back in steps has to evaluate again."""
        if len(self._sequences) > 1 or self._target.rollback is None:
            return 0
        return len(live[0].tokens) - 1 - self._target.cached(live[0].tokens[:-1])

    def _drafts(
        self, live: Sequence[DecodingSequence], policy: Policy, reevaluated: int
    ) -> list[PlannedDraft]:
        repeats = self._target.rollback == 0
        drafts: list[PlannedDraft] = []
        beside = BatchContext(len(live) - 1, len(live) - 1)
        for each in live:
            plan, draft = cast(Plan, Fixed(0)), Draft()
            if each.speculates(policy):
                room = self._room(each, len(live), beside, policy)
                share = replace(beside, width=beside.width + reevaluated, repeats=repeats)
                plan = policy.plan(room, share, self._clock)
                draft = each.drafter.propose(each.tokens, plan, self._warp, each.rule.draw)
            if isinstance(plan, ThroughputPlan):
                beside = plan.beside
            drafts.append(PlannedDraft(each, plan, draft))
        return drafts

    def _room(
        self, sequence: DecodingSequence, live: int, beside: BatchContext, policy: Policy
    ) -> int:
        """Return the most tokens to propose that leave a row, and room, for one more."""
        rows = self._target.max_rows
        most = rows - beside.width if policy.is_free else rows // live
        left = self._limit - len(sequence.tokens), sequence.answer.tokens_left
        return max(0, min(most - 1, most_proposals(self._target), *(each - 1 for each in left)))

    def _verified(self, drafts: Sequence[PlannedDraft]) -> list[Round]:
        texts = {
            each.number: SequenceTokens([*each.tokens, *draft.tokens], len(draft.proposals) + 1)
            for each, _, draft in drafts
        }
        logits = self._evaluated(texts)
        try:
            return [
                verified(draft, logits[each.number], each.tokens, each.warp(self._warp), each.rule)
                for each, _, draft in drafts
            ]
        except NothingAllowed as error:
            raise UsageError(str(error)) from error

    def _evaluated(self, texts: Mapping[int, SequenceTokens]) -> Mapping[int, Logits]:
        if len(self._sequences) > 1:
            return cast(MultiSequenceModel, self._target).logits_of(texts)
        return {i: self._target.logits(text.tokens, text.rows) for i, text in texts.items()}

    def _prefill(self, sequence: DecodingSequence, policy: Policy) -> Iterator[Prefilled]:
        """Have the draft model read what it has not seen, if the policy expects that to pay."""
        source, tokens = sequence.model, sequence.tokens
        if source is None:
            return
        source.read(tokens)
        reading = policy.reading(source.prefill_options(tokens), sequence.answer.tokens_left)
        if reading is None:
            return
        source.begin(tokens, reading.context)
        seen, before = source.seen(tokens[:-1]), sequence.draft_s
        begun = source.model.cached(seen)
        try:
            for progress in prefill(source.model, "draft", seen, reading.piece):
                if reading.unread > SILENT_PREFILL:
                    yield progress
        except ModelError as error:
            raise DraftFailed(str(error)) from error
        finally:
            if policy.controller and policy.is_free:
                read = source.model.cached(seen) - begun
                policy.controller.read(read, sequence.draft_s - before)


def _spent(sequences: Sequence[DecodingSequence]) -> tuple[float, float]:
    """Return the seconds that draft models and draft tables have taken so far."""
    return sum(each.draft_s for each in sequences), sum(each.drafter.tables_s for each in sequences)


def prefill(
    model: Model, role: Role, tokens: Sequence[int], most: int | None = None
) -> Iterator[Prefilled]:
    """Read tokens in chunks, at most `most` of them, so that a cancel takes effect between two."""
    begun = model.cached(tokens)
    last = len(tokens) if most is None else min(begun + most, len(tokens))
    for start in range(begun, last, PREFILL_CHUNK):
        end = min(start + PREFILL_CHUNK, last)
        model.logits(tokens[:end], rows=0)
        yield Prefilled(role, end, len(tokens))
