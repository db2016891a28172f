"""`Rounds` with a simulated target, draft and machine, on a simulated clock."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.sources.draft import Cascade
from assistant.decoding.sources.model import ModelSource, VocabularyMapping
from assistant.decoding.sources.suffix import SuffixSource, TailSource
from assistant.engine.control import Control
from assistant.engine.rounds import PlannedRound, Rounds
from tests.assistant.engine.counting_target import greedy
from tests.assistant.engine.simulated_model import SimulatedModel

VOCABULARY = 3000
WRONG, UNSURE = VOCABULARY - 2, VOCABULARY - 1
GAPS = (0.1, 0.3, 0.7, 1.2, 1.7, 2.5, 3.5, 5.0, 7.0, 9.0)
"""Logits that the best token is ahead, one for each class of margin."""


@dataclass
class Machine:
    """How long evaluations take, and how that changes in the course of time.

    At a moment, everything takes `pace` times as long, batches another 1 + `steep` times, and one
    evaluation differs from another by at most `noise`.
    """

    verify: dict[int, float]
    draft: dict[int, float]
    pace: Callable[[float], float] = lambda t: 1.0
    steep: Callable[[float], float] = lambda t: 0.0
    noise: float = 0.0
    rng: random.Random = field(default_factory=lambda: random.Random(1))

    def __post_init__(self) -> None:
        self.costs = Costs(self.verify, self.draft)
        self.now = self.evaluations = 0.0

    def evaluate(self, seconds: float, is_plain: bool) -> float:
        """Advance the clock by an evaluation; return its seconds.

        `evaluations` counts it in plain evaluations, as long as they take at that moment.
        """
        pace, steep = self.pace(self.now), self.steep(self.now)
        noise = 1 + self.rng.uniform(-self.noise, self.noise)
        took = seconds * pace * noise * (1 if is_plain else 1 + steep)
        self.now += took
        self.evaluations += took / (pace * self.verify[1])
        return took


@dataclass
class Text:
    """A text to be decoded, and what a draft proposes for it.

    `right` gives the probability that the draft is right at a position of the answer, `margin` is
    the target's margin everywhere, and `bucket` gives the draft's where it is right or wrong.
    """

    prompt: int
    length: int
    right: Callable[[int], float]
    margin: int = 9
    bucket: Callable[[bool], int] = lambda is_right: 8
    repeats: float = 0.0
    rng: random.Random = field(default_factory=lambda: random.Random(1))

    def __post_init__(self) -> None:
        rng, self.tokens = self.rng, list[int]()
        while len(self.tokens) < self.prompt + self.length:
            if len(self.tokens) > max(20, self.prompt) and rng.random() < self.repeats:
                start = rng.randrange(len(self.tokens) - 6)
                self.tokens += self.tokens[start : start + rng.randrange(2, 6)]
            else:
                self.tokens.append(rng.randrange(WRONG))
        self.tokens = self.tokens[: self.prompt + self.length]
        self.luck = [rng.random() for _ in range(self.length)]
        self.decoded = self.prompt

    def target(self, tokens: Sequence[int]) -> tuple[int, int]:
        """Return the token that follows, and the margin."""
        position = len(tokens)
        return (self.tokens[position], self.margin) if position < len(self.tokens) else (WRONG, 0)

    def draft(self, tokens: Sequence[int]) -> tuple[int, int]:
        """Return the token that the draft proposes, and its bucket."""
        tokens = list(tokens)
        for position in range(min(self.decoded + 33, len(self.tokens) - 1), self.decoded - 1, -1):
            if tokens[-1] != self.tokens[position - 1]:  # nearly everywhere
                continue
            if tokens == self.tokens[max(0, position - len(tokens)) : position]:
                answered = position - self.prompt
                is_right = self.luck[answered] < self.right(answered)
                return self.tokens[position] if is_right else WRONG, self.bucket(is_right)
        return WRONG, self.bucket(False)


class TextModel(SimulatedModel):
    """A model with the times of a machine and the logits of a text."""

    n_vocab = VOCABULARY

    def __init__(self, role: str, machine: Machine, text: Text) -> None:
        is_target = role == "target"
        seconds = machine.costs.verify if is_target else machine.costs.draft

        def evaluate(width: int, depth: int) -> float:
            return machine.evaluate(seconds(width), is_target and width == 1)

        super().__init__(evaluate, n_ctx=8192)
        self._next = text.target if is_target else text.draft

    def rows_after(self, texts: Sequence[Sequence[int]]) -> np.ndarray:
        logits = np.zeros((len(texts), VOCABULARY), np.float32)
        for row, tokens in zip(logits, texts, strict=True):
            token, margin = self._next(tokens)
            row[token], row[UNSURE] = 20.0, 20.0 - GAPS[margin]
        return logits


@dataclass(frozen=True)
class Outcome:
    """The result of an answer; times are in evaluations of one token."""

    tokens: int
    evaluations: float
    draft_evaluations: float
    proposed: int

    @property
    def lost(self) -> float:
        """How many evaluations it took beyond those of ArS."""
        return self.evaluations - self.tokens

    @property
    def speedup(self) -> float:
        """How many times as fast as ArS it was."""
        return self.tokens / self.evaluations


def answered(controller, machine: Machine, text: Text, **options):
    """Decode an answer, of which the controller does not know the length."""
    target, draft = (TextModel(role, machine, text) for role in ("target", "draft"))
    tokens = text.tokens[: text.prompt]
    target.cached_tokens = tokens[:-1]
    model = ModelSource(draft, VocabularyMapping.identity(VOCABULARY, VOCABULARY))
    drafter, rule = Cascade(SuffixSource(), TailSource(), model), BlockRule(random.Random(0))
    how, decoded, proposed = (Control("auto"), controller), 0, 0
    options["clock"] = lambda: machine.now
    for step in Rounds(target, tokens, drafter, rule, greedy, *how, **options):
        text.decoded = len(tokens)
        if isinstance(step, PlannedRound):
            decoded += len(step.round.tokens)
            proposed += step.round.proposed
            if decoded >= text.length:
                break
    draft_evaluations = draft.busy_s / machine.verify[1]
    return Outcome(decoded, machine.evaluations, draft_evaluations, proposed)
