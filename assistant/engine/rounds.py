"""Plan, draft, verify, observe: round after round, for one text or several in one batch.

Several answers to one request are each drafted and verified as if they were alone, with chance of
their own; one evaluation of the target serves all. How long a draft is may depend on the other
drafts of the round; but whatever was known before a token was proposed has no say in what comes out
(see `sources.draft.Plan`). So the answers are what the target says when it is asked as often,
independently.

A proposal has its place at the end of a batch that is as wide as there are answers, at least, and
where batches cost by the token already it has to be good to be worth it. A draft model would need
such a batch of its own for every token that it proposes, and is not asked.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple, cast

from assistant.decoding.lookahead.policy import Fixed, Policy
from assistant.decoding.lookahead.throughput_plan import BatchShare, ThroughputPlan
from assistant.decoding.loops import Round, verified
from assistant.decoding.mask import by_form
from assistant.decoding.sources.draft import Draft, Plan
from assistant.decoding.sources.forced import Forced, forcing
from assistant.decoding.warp import Warp
from assistant.engine.decoding_sequence import DecodingSequence
from assistant.events import Forecast, Noticed, Prefilled, Role, Stop
from models.base import Logits, Model, MultiSequenceModel, SequenceTokens, most_proposals
from models.errors import Cancelled, DraftFailed, ModelError

PREFILL_CHUNK = 256  # tokens between two signs of life
QUICK = 64  # tokens that are read without a word


class PlannedDraft(NamedTuple):
    """A draft, and the plan that it was made by."""

    sequence: DecodingSequence
    plan: Plan
    draft: Draft


class SequenceRound(NamedTuple):
    """A round of an answer, what is expected of speculation, and why it proposed what it did."""

    sequence: DecodingSequence
    round: Round
    forecast: Forecast


class Rounds:
    """Decode answers after the same prompt; their tokens grow with them.

    Args:
        target: for more than one answer, a `MultiSequenceModel`.
        sequences: the answers; only a single one is drafted by a model.
        policy: decides what rounds propose; asked once for each evaluation.
        warp: how logits become rows.
        clock: what rounds are timed by.
        forced: says which token must follow some others, whatever the target thinks of it.
    """

    def __init__(
        self,
        target: Model,
        sequences: Sequence[DecodingSequence],
        policy: Policy,
        warp: Warp,
        clock: Callable[[], float] = perf_counter,
        forced: Forced | None = None,
    ) -> None:
        self.evaluations = 0
        self._target_warp = forcing(warp, forced) if forced else warp
        self._target, self._sequences = target, sequences
        self._policy, self._warp, self._clock = policy, warp, clock
        self._prompt = len(sequences[0].tokens)
        if policy.controller:
            policy.controller.begin()

    def __iter__(self) -> Iterator[SequenceRound | Prefilled | Noticed]:
        """Yield the rounds of all answers that have not ended, and what happens between them.

        An answer ends when its `stop` is set: by whoever takes its rounds, or here, when it
        has had its share of the context. What one does not need any more is the others'.

        Raises:
            Cancelled: it was stopped; the tokens hold every whole round.
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
        """Return the answers that go on, the shortest first: it has the cheaper places."""
        live = [each for each in self._sequences if each.answer.stop is None]
        limit = self._limit
        for each in live:
            if len(each.tokens) >= limit:
                each.answer.stop = Stop.CONTEXT
        going = (each for each in live if each.answer.stop is None)
        return sorted(going, key=lambda each: len(each.tokens))

    @property
    def _limit(self) -> int:
        """How long a text may become: what the prompt leaves is for those that would go on."""
        stops = [each.answer.stop for each in self._sequences]
        eager = stops.count(None) + stops.count(Stop.CONTEXT)
        return self._prompt + (self._target.n_ctx - self._prompt) // max(1, eager)

    def _round(self, live: Sequence[DecodingSequence], policy: Policy) -> Iterator[SequenceRound]:
        draft_s, tables_s, started = *_spent(live), self._clock()
        again = self._again(live)
        if policy.controller:
            policy.controller.at(len(live[0].tokens))
        drafts = self._drafts(live, policy, again)
        fillers = self._fillers(drafts, policy)
        rounds = self._verified(drafts, fillers)
        seconds, spent = self._clock() - started, _spent(live)
        self.evaluations += 1
        forecasts = [Forecast(each.reason(policy, plan)) for each, plan, _ in drafts]
        if controller := policy.controller:
            plans = [plan for _, plan, _ in drafts]
            observed = list(zip(rounds, plans, strict=True))
            spent_s = spent[0] - draft_s, spent[1] - tables_s
            controller.observe(observed, seconds, *spent_s, fillers, again)
            if len(self._sequences) == 1:
                forecasts = [controller.forecast(forecasts[0].reason, plans[0])]
        for (sequence, _, _), round_, forecast in zip(drafts, rounds, forecasts, strict=True):
            yield SequenceRound(sequence, round_, forecast)

    def _again(self, live: Sequence[DecodingSequence]) -> int:
        """Return how many tokens the target has to evaluate again: it could not go back to them."""
        if len(self._sequences) > 1 or self._target.rollback is None:
            return 0
        return len(live[0].tokens) - 1 - self._target.cached(live[0].tokens[:-1])

    def _drafts(
        self, live: Sequence[DecodingSequence], policy: Policy, again: int
    ) -> list[PlannedDraft]:
        repeats = self._target.rollback == 0
        drafts: list[PlannedDraft] = []
        beside = BatchShare(len(live) - 1, len(live) - 1)
        for each in live:
            plan, draft = cast(Plan, Fixed(0)), Draft()
            if each.speculates(policy):
                room = self._room(each, len(live), beside, policy)
                plan = policy.plan(
                    room, replace(beside, width=beside.width + again, repeats=repeats)
                )
                draft = each.drafter.propose(each.tokens, plan, self._warp, each.rule.draw)
            if isinstance(plan, ThroughputPlan):
                beside = plan.beside
            drafts.append(PlannedDraft(each, plan, draft))
        return drafts

    def _room(
        self, sequence: DecodingSequence, live: int, beside: BatchShare, policy: Policy
    ) -> int:
        """Return how many tokens may be proposed, so that one more still fits after them."""
        rows = self._target.max_rows
        most = rows - beside.width if policy.is_free else rows // live
        left = self._limit - len(sequence.tokens), sequence.answer.tokens_left
        return max(0, min(most - 1, most_proposals(self._target), *(each - 1 for each in left)))

    def _fillers(self, drafts: Sequence[PlannedDraft], policy: Policy) -> int:
        """Return how many fillers to add to the batch."""
        target = self._target
        if policy.controller is None or target.rollback is not None:
            return 0
        answered = sum(len(each.tokens) - self._prompt for each in self._sequences)
        proposed = sum(len(draft.tokens) for *_, draft in drafts)
        left = target.n_ctx - self._prompt - answered - proposed
        rows = len(drafts) + proposed
        most = max(0, min(left, target.max_rows - rows))
        return policy.controller.fillers(rows, most, drafts[-1].plan)

    def _verified(self, drafts: Sequence[PlannedDraft], fillers: int) -> list[Round]:
        texts = {
            each.number: SequenceTokens([*each.tokens, *draft.tokens], len(draft.proposals) + 1)
            for each, _, draft in drafts
        }
        last = drafts[-1].sequence.number
        texts[last] = replace(texts[last], fillers=fillers)
        logits = self._evaluated(texts)
        return [
            verified(
                draft,
                logits[each.number],
                each.tokens,
                by_form(self._target_warp, each.mask),
                each.rule,
            )
            for each, _, draft in drafts
        ]

    def _evaluated(self, texts: Mapping[int, SequenceTokens]) -> Mapping[int, Logits]:
        if len(self._sequences) > 1:
            return cast(MultiSequenceModel, self._target).logits_of(texts)
        return {
            i: self._target.logits(text.tokens, text.rows, text.fillers)
            for i, text in texts.items()
        }

    def _prefill(self, sequence: DecodingSequence, policy: Policy) -> Iterator[Prefilled]:
        """Have the draft model read what it lacks, if that is worth its time."""
        source, tokens = sequence.model, sequence.tokens
        if source is None:
            return
        source.read(tokens)
        reading = policy.reading(source.ways(tokens), sequence.answer.tokens_left)
        if reading is None:
            return
        source.begin(tokens, reading.context)
        before = sequence.draft_s
        try:
            for sign in prefill(source.model, "draft", source.seen(tokens[:-1])):
                if reading.unread > QUICK:
                    yield sign
        except ModelError as error:
            raise DraftFailed(str(error)) from error
        finally:
            if policy.controller and policy.is_free:
                policy.controller.read(reading.unread, sequence.draft_s - before)


def _spent(sequences: Sequence[DecodingSequence]) -> tuple[float, float]:
    """Return the seconds that draft models and tables have taken so far."""
    return sum(each.draft_s for each in sequences), sum(each.drafter.tables_s for each in sequences)


def prefill(model: Model, role: Role, tokens: Sequence[int]) -> Iterator[Prefilled]:
    """Read `tokens` in chunks, so that progress shows and a cancel is soon obeyed."""
    for start in range(model.cached(tokens), len(tokens), PREFILL_CHUNK):
        end = min(start + PREFILL_CHUNK, len(tokens))
        model.logits(tokens[:end], rows=0)
        yield Prefilled(role, end, len(tokens))
