"""Samples of the first tokens after a prompt, by ArS and by SpS, and what they have in common.

All rows of a prompt are computed once and kept, so that a thousand answers cost no more evaluations
than there are ways to begin.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from assistant.decoding.lookahead.policy import Fixed
from assistant.decoding.loops import Round, autoregressive, speculative
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.rule import Rule
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Source
from assistant.decoding.warp import Row, Warp, warped
from assistant.lab.prove.pair import ProvedPair, emptied
from assistant.request import Sampling
from models.base import Model

NARROW = 4
"""Tokens that a row keeps, so that answers begin alike."""
SAMPLE_TOKENS = 3
"""Tokens of a sample."""
LOOKAHEAD = 2
Rules = Iterator[Rule]
Counts = Counter[tuple[int, ...]]


class AcceptanceTrial(NamedTuple):
    """A proposal that was up for acceptance."""

    place: int  # in the draft
    chance: float
    kept: bool


Trials = Callable[[Round], Iterator[AcceptanceTrial]]


class RecallingTarget:
    """A target whose rows are warped where they are computed, and kept.

    What was computed in a batch is given for the same batch alone: the same tokens, as wide.
    """

    def __init__(self, model: Model, warp: Warp) -> None:
        self._model, self._warp = model, warp
        self._known: dict[tuple[int, tuple[int, ...]], list[Row]] = {}
        self.evaluations = 0
        """How many there were indeed."""

    def logits(self, tokens: Sequence[int], rows: int = 1) -> list[Row]:
        """Return rows instead of logits; to be warped by `as_it_is`."""
        key = rows, tuple(tokens)
        if key not in self._known:
            self.evaluations += 1
            self._known[key] = [
                self._warp(row, tokens[: len(tokens) - rows + 1 + i])
                for i, row in enumerate(self._model.logits(tokens, rows))
            ]
        return self._known[key]


def as_it_is(row: Row, _history: Sequence[int]) -> Row:
    """Return a row that is warped already."""
    return row


class RecallingSource:
    """A source of rows that keeps those it gave."""

    def __init__(self, source: Source, warp: Warp) -> None:
        self._source, self._warp = source, warp
        self._known: dict[tuple[int, ...], tuple[Row, int]] = {}

    def row(self, tokens: Sequence[int], _warp: Warp) -> tuple[Row, int]:
        """Return a row as the source warps it."""
        key = tuple(tokens)
        if key not in self._known:
            self._known[key] = self._source.row(tokens, self._warp)
        return self._known[key]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


@dataclass(slots=True)
class Sample:
    """Answers that one rule gave."""

    texts: Counts = field(default_factory=Counter)
    trials: defaultdict[int, list[tuple[float, bool]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def firsts(self, length: int) -> Counts:
        """Return how often each beginning came."""
        counts: Counts = Counter()
        for text, count in self.texts.items():
            counts[text[:length]] += count
        return counts


class Sampler:
    """Sample after one prompt."""

    def __init__(self, pair: ProvedPair, number: int, prompt: list[int], size: int) -> None:
        sampling = narrowed(pair.warm)
        self._target = RecallingTarget(pair.target, warped(sampling))
        self._drafter = Cascade(RecallingSource(pair.source, warped(sampling)))
        self._prompt, self._size = prompt, size
        # Else the first batch would be as wide as the prompt, and its rows unlike those of others.
        emptied(pair.target).logits(prompt[:-1], rows=0)
        self._seeds = np.random.SeedSequence([pair.seed, number])
        self._first_twin = (pair.seed + 1) * 2**40 + number * 2**20

    def streams(self, kind: Callable[[np.random.Generator], Rule]) -> Rules:
        """Return one rule for all answers, with a stream of its own."""
        return repeat(kind(self.rng()))

    def twins(self) -> Rules:
        """Return a coupled rule for each answer: a seed has one."""
        return (CoupledRule(self._first_twin + i) for i in range(self._size))

    def rng(self) -> np.random.Generator:
        """Return chance that nothing else draws from."""
        return np.random.default_rng(self._seeds.spawn(1)[0])

    def ars(self) -> Sample:
        """Answer token by token."""
        sample = Sample()
        for _, rule in zip(range(self._size), self.streams(TokenRule), strict=False):
            tokens = list(self._prompt)
            self._complete(tokens, rule)
            sample.texts[self._text(tokens)] += 1
        return sample

    def sps(self, rules: Rules, trials: Trials | None = None) -> Sample:
        """Answer by a round of speculation, and go on token by token where it ended early."""
        sample = Sample()
        for _, rule in zip(range(self._size), rules, strict=False):
            tokens = list(self._prompt)
            plan = partial(Fixed, LOOKAHEAD)
            target, drafter = self._target, self._drafter
            round_ = next(speculative(target, drafter, tokens, plan, as_it_is, rule))  # type: ignore[arg-type]  # rows, not logits
            self._complete(tokens, rule)
            sample.texts[self._text(tokens)] += 1
            for trial in trials(round_) if trials else ():
                sample.trials[trial.place].append((trial.chance, trial.kept))
        return sample

    def _complete(self, tokens: list[int], rule: Rule) -> None:
        loop = autoregressive(self._target, tokens, as_it_is, rule)  # type: ignore[arg-type]  # rows, not logits
        while len(tokens) < len(self._prompt) + SAMPLE_TOKENS:
            next(loop)

    def _text(self, tokens: list[int]) -> tuple[int, ...]:
        return tuple(tokens[len(self._prompt) :][:SAMPLE_TOKENS])


def narrowed(sampling: Sampling) -> Sampling:
    """Return a sampling that keeps few tokens, and leaves much to chance among them."""
    temperature = max(sampling.temperature, 1.0)
    return replace(sampling, temperature=temperature, top_k=NARROW, top_p=1.0)
