"""Several answers to one request, decoded together: one evaluation of the target serves all.

Each is drafted and verified as if it were alone, with chance of its own. How long a draft is may
depend on the other drafts of the round; but whatever was known before a token was proposed has no
say in what comes out (see `sources.draft.Plan`). So the answers are what the target says when it is
asked as often, independently.

A proposal has its place at the end of a batch that is as wide as there are answers, at least, and
where batches cost by the token already it has to be good to be worth it. A draft model would need
such a batch of its own for every token that it proposes, and is not asked.
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

from assistant.decoding.lookahead.policy import Control, Fixed, Policy
from assistant.decoding.lookahead.throughput_plan import BatchShare, ThroughputPlan
from assistant.decoding.loops import Round, verified
from assistant.decoding.rules.rule import Rule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Draft, Drafter, Plan, Source
from assistant.decoding.sources.frequency import FrequencySource
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.sources.suffix import SuffixSource
from assistant.decoding.sources.tail import TailSource
from assistant.decoding.warp import Warp
from assistant.events import Reason, Stats, Stop
from models.base import MultiSequenceModel, SequenceTokens
from models.errors import Cancelled


class Ending(Protocol):
    """What decides where an answer ends; see `assistant.engine.answer.Answer`."""

    stop: Stop | None
    stats: Stats

    @property
    def tokens_left(self) -> int:
        """How many tokens it may still have."""
        ...


@dataclass(slots=True, eq=False)
class DecodingSequence:
    """One of several answers: its text, its chance, and what proposes for it."""

    number: int
    tokens: list[int]
    """The prompt, and the answer so far."""
    answer: Ending
    drafter: Drafter
    rule: Rule


def drafter(sources: Sequence[Source]) -> Cascade:
    """Return what proposes for one of several answers.

    Sources that read a text are each answer's own; and the draft model has no place here.
    """
    return Cascade(*(_own(source) for source in sources if not isinstance(source, ModelSource)))


def _own(source: Source) -> Source:
    match source:
        case SuffixSource() | TailSource():
            return type(source)()
        case FrequencySource():
            return deepcopy(source)
    return source


class BatchDecoding:
    """Decode several answers behind the same prompt, whose tokens grow with them."""

    def __init__(
        self,
        target: MultiSequenceModel,
        voices: Sequence[DecodingSequence],
        policy: Policy,
        warp: Warp,
        control: Control,
    ) -> None:
        self.evaluations = 0
        self._target, self._voices = target, voices
        self._policy, self._warp, self._control = policy, warp, control
        self._prompt = len(voices[0].tokens)
        if policy.controller:
            policy.controller.begin()

    def rounds(self) -> Iterator[tuple[DecodingSequence, Round, Reason]]:
        """Yield the rounds of all answers that have not ended, by the evaluation.

        Beside each is why its draft is what it is.

        An answer ends when its `stop` is set: by whoever takes its rounds, or here, when it has had
        its share of the context. What one does not need any more is the others'.

        Raises:
            Cancelled: somebody stopped it; the tokens hold every whole round.
            ModelError: the target cannot go on.
        """
        while live := self._live():
            if self._control.cancel.raised:
                raise Cancelled
            started = perf_counter()
            policy = self._policy.now()
            drafts = self._drafts(live, policy)
            rounds = self._verified([(voice, draft) for voice, draft, _ in drafts])
            plans = [plan for _, _, plan in drafts]
            self.evaluations += 1
            if self._policy.controller:
                seconds = perf_counter() - started
                observed = list(zip(rounds, plans, strict=True))
                self._policy.controller.observe_batch(observed, seconds)
            voices, reasons = (voice for voice, _, _ in drafts), map(policy.reason, plans)
            yield from zip(voices, rounds, reasons, strict=True)

    def _live(self) -> list[DecodingSequence]:
        """Return the answers that go on, the shortest first: it has the cheaper places."""
        live = [voice for voice in self._voices if voice.answer.stop is None]
        limit = self._limit
        for voice in live:
            if len(voice.tokens) >= limit:
                voice.answer.stop = Stop.CONTEXT
        going = (voice for voice in live if voice.answer.stop is None)
        return sorted(going, key=lambda voice: len(voice.tokens))

    @property
    def _limit(self) -> int:
        """How long a text may become: what the prompt leaves is for those that would go on."""
        stops = [voice.answer.stop for voice in self._voices]
        eager = stops.count(None) + stops.count(Stop.CONTEXT)
        return self._prompt + (self._target.n_ctx - self._prompt) // max(1, eager)

    def _drafts(
        self, live: Sequence[DecodingSequence], policy: Policy
    ) -> list[tuple[DecodingSequence, Draft, Plan]]:
        drafts: list[tuple[DecodingSequence, Draft, Plan]] = []
        beside = BatchShare(len(live) - 1, len(live) - 1)
        for voice in live:
            plan = self._plan(voice, live, beside, policy)
            draft = voice.drafter.propose(voice.tokens, plan, self._warp, voice.rule.draw)
            if isinstance(plan, ThroughputPlan):
                beside = plan.beside
            drafts.append((voice, draft, plan))
        return drafts

    def _plan(
        self,
        voice: DecodingSequence,
        live: Sequence[DecodingSequence],
        beside: BatchShare,
        policy: Policy,
    ) -> Plan:
        if not voice.answer.stats.generated_tokens:
            return Fixed(0)  # the first token does not wait for a draft
        rows = self._target.max_rows
        most = rows - beside.width if policy.is_free else rows // len(live)
        room = min(most, self._limit - len(voice.tokens), voice.answer.tokens_left) - 1
        return policy.plan(max(0, room), beside)

    def _verified(self, drafts: Sequence[tuple[DecodingSequence, Draft]]) -> list[Round]:
        texts = {
            voice.number: SequenceTokens([*voice.tokens, *draft.tokens], len(draft.proposals) + 1)
            for voice, draft in drafts
        }
        logits = self._target.logits_of(texts)
        return [
            verified(draft, logits[voice.number], voice.tokens, self._warp, voice.rule)
            for voice, draft in drafts
        ]
