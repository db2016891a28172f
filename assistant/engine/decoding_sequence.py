"""An answer being decoded: its text, randomness, draft sources, and how logits become rows."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from assistant.decoding.lookahead.policy import Control, Policy
from assistant.decoding.mask import Mask
from assistant.decoding.row import Row
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.rule import Rule
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Plan, Source
from assistant.decoding.sources.frequency import FrequencySource
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.sources.suffix import SuffixSource
from assistant.decoding.sources.tail import TailSource
from assistant.decoding.warp import Warp, warp
from assistant.events import Noticed, Reason, Stats, Stop
from assistant.request import Request
from models.base import Logits
from models.errors import DraftFailed


class Ending(Protocol):
    """What decides where an answer ends; see `assistant.engine.answer.AnswerBuilder`."""

    stop: Stop | None
    stats: Stats

    @property
    def tokens_left(self) -> int:
        """How many tokens it may still have."""
        ...


@dataclass(slots=True, eq=False)
class DecodingSequence:
    """An answer under way."""

    number: int
    tokens: list[int]
    """The prompt, and the answer so far."""
    answer: Ending
    drafter: Cascade
    rule: Rule
    mask: Mask | None = None
    """Of the form that it has to have."""

    @property
    def model(self) -> ModelSource | None:
        """The draft model, if one is asked."""
        sources = self.drafter.sources.values()
        return next((each for each in sources if isinstance(each, ModelSource)), None)

    @property
    def draft_s(self) -> float:
        """Seconds that the draft model has computed so far."""
        return self.model.model.busy_s if self.model else 0.0

    def speculates(self, policy: Policy) -> bool:
        """Say whether sources are asked at all; the first token does not wait for a draft."""
        begun = self.answer.stats.generated_tokens
        return bool(policy.control.mode != "ars" and begun and self.drafter.sources)

    def reason(self, policy: Policy, plan: Plan) -> Reason:
        """Return why a plan that has been carried out proposed what it did."""
        if policy.control.mode != "ars":
            if not self.drafter.sources:
                return Reason.NO_SOURCE
            if not self.answer.stats.generated_tokens:
                return Reason.FIRST
        return policy.reason(plan)

    def without_model(self, error: DraftFailed) -> Noticed:
        """Ask a draft model that has failed no more."""
        if self.model:
            del self.drafter.sources[self.model.name]
        self.drafter.failure = None
        return Noticed(f"{error} The answer goes on without the draft model.")


def own_sources(sources: Sequence[Source]) -> Iterator[Source]:
    """Yield what proposes for one of several answers.

    Sources that read a text are each answer's own; and the draft model has no place here.
    """
    for source in sources:
        match source:
            case SuffixSource() | TailSource():
                yield type(source)()
            case FrequencySource():
                yield deepcopy(source)
            case ModelSource():
                continue
            case _:
                yield source


def rule_of(request: Request, number: int = 0) -> Rule:
    """Return the chance of an answer: of a stream, or with a seed of each place's own.

    Several answers to one request are numbered from 0; with a seed, each has that of its number
    more, and so it is the answer that this seed gives alone.
    """
    if request.seed is not None:
        return CoupledRule(request.seed + number)
    rng = np.random.default_rng()
    return BlockRule(rng) if request.rule == "block" else TokenRule(rng)


def warp_of(request: Request, control: Control) -> Warp:
    """Return how logits become rows: as the request says, or as the user has changed it since."""

    def warped(logits: Logits, history: Sequence[int]) -> Row:
        return warp(logits, control.sampling or request.sampling, history)

    return warped
