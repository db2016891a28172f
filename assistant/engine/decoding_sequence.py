"""An answer being decoded: its tokens, verification rule, draft sources and constraints."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assistant.decoding.mask import Mask, by_form
from assistant.decoding.model import DraftFailed
from assistant.decoding.row import Row
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.rule import Rule
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Plan, Source
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.sources.suffix import SuffixSource
from assistant.decoding.sources.tail import TailSource
from assistant.decoding.warp import Warp, warp
from assistant.engine.answer import AnswerBuilder
from assistant.engine.policy import Control, Policy
from assistant.engine.sources.certain import Forced, forcing
from assistant.events import Noticed, Reason
from assistant.request import Request
from models.base import Logits


@dataclass(slots=True, eq=False)
class DecodingSequence:
    """One answer under way, and all that decides its next token."""

    number: int
    tokens: list[int]
    """The prompt followed by the answer so far."""
    answer: AnswerBuilder
    drafter: Cascade
    rule: Rule
    mask: Mask | None = None
    """What its form allows next; None without a form."""
    forced: Forced | None = None
    """Returns the token that must come next, if any; see `ThoughtReader.forced`."""

    @property
    def model(self) -> ModelSource | None:
        """The draft model among its sources, if any."""
        sources = self.drafter.sources.values()
        return next((each for each in sources if isinstance(each, ModelSource)), None)

    @property
    def draft_s(self) -> float:
        """Seconds that the draft model has computed so far."""
        return self.model.model.busy_s if self.model else 0.0

    def speculates(self, policy: Policy) -> bool:
        """Say whether a round asks its sources; the first token does not wait for a draft."""
        begun = self.answer.stats.generated_tokens
        return bool(policy.control.mode != "ars" and begun and self.drafter.sources)

    def reason(self, policy: Policy, plan: Plan) -> Reason:
        """Return why the round of a plan proposed as many tokens as it did."""
        if policy.control.mode != "ars":
            if not self.drafter.sources:
                return Reason.NO_SOURCE
            if not self.answer.stats.generated_tokens:
                return Reason.FIRST
        return policy.reason(plan)

    def warp(self, warp: Warp) -> Warp:
        """Return a warp of the target's logits that obeys the form and forced tokens."""
        return by_form(forcing(warp, self.forced) if self.forced else warp, self.mask)

    def without_model(self, error: DraftFailed) -> Noticed:
        """Drop a draft model that has failed; return the notice for the user."""
        if self.model:
            del self.drafter.sources[self.model.name]
        self.drafter.failure = None
        return Noticed(f"{error} The answer goes on without the draft model.")


def own_sources(sources: Sequence[Source]) -> list[Source]:
    """Return the draft sources of one of several answers.

    Sources that learn from the text start empty, so that no answer is drafted from another. The
    draft model holds one text and is left out.
    """
    learning = SuffixSource | TailSource
    own = [source for source in sources if not isinstance(source, ModelSource)]
    return [type(source)() if isinstance(source, learning) else source for source in own]


def rule_of(request: Request, number: int = 0) -> Rule:
    """Return the verification rule of answer `number` of a request, with its randomness.

    With a seed every position has random numbers of its own, and answer i equals a single answer
    with the seed `seed + i`. Without one they come from a new generator.
    """
    if request.seed is not None:
        return CoupledRule(request.seed + number)
    rng = np.random.default_rng()
    return BlockRule(rng) if request.rule == "block" else TokenRule(rng)


def warp_of(request: Request, control: Control) -> Warp:
    """Return a warp by the request's sampling, or by the one that the user has chosen since."""

    def warped(logits: Logits, history: Sequence[int]) -> Row:
        return warp(logits, control.sampling or request.sampling, history)

    return warped
