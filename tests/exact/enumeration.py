"""Enumeration of the decoding code over toys: each outcome with its exact probability."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, cast

from assistant.decoding.loops import speculative_round
from assistant.decoding.row import Row
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.rule import Rule, TokenRule
from assistant.decoding.sources.draft import Cascade, Drafter
from assistant.decoding.sources.model import ModelSource, VocabularyMapping
from tests.exact.exact_rows import keep_all
from tests.exact.law import distance, law
from tests.exact.planners import ControllerPlanner, FixedPlanner, Planners, WhimsicalPlanner
from tests.exact.shipped_sources import SHORT_START, SOURCES, START, by_counts, cascade
from tests.exact.toy import Toy, best_two, chain_rule, repeats_halved
from tests.exact.toy_sources import STEPWISE, FailsAfter, Parrot, ToyWarp, modelled, modelled_by

RULES: dict[str, Callable[[Any], Rule]] = {"token": TokenRule, "block": BlockRule}
"""Those that draw from a stream of uniforms."""
STYLES = (
    *((style, style, 0) for style in ("full", "zeros", "disjoint", "one-hot")),
    *((style, style, seed) for style in ("sharp",) for seed in (5, 6)),
    ("full", "zeros", 1),
    ("zeros", "full", 2),
    ("one-hot", "full", 3),
    ("full", "one-hot", 4),
    ("uniform", "zeros", 5),
)
"""What the target's and the draft's rows are like, and a seed; with 5 and 6, sharp ones differ by
much and by next to nothing."""
FIXED, WHIMS, CONTROLLER = "a fixed lookahead", "whims", "the controller"


@dataclass(frozen=True, slots=True)
class Case:
    """A text to be decoded in every way there is, and the law that it ought to have."""

    source: str  # who proposes
    stop: str  # what decides how much
    target: Toy
    drafter: Callable[[], Drafter]
    planner: Planners
    length: int = 3
    start: tuple[int, ...] = ()
    warp: ToyWarp = keep_all
    seen: set[str] = field(default_factory=set)  # who has proposed
    lookaheads: set[int] = field(default_factory=set)  # and how much

    def law(self, rule: Callable[[Any], Rule]) -> dict[tuple[int, ...], Fraction]:
        """Return the law of the first tokens, over as many rounds as they take."""
        return law(partial(self._run, rule))

    def _run(self, rule: Callable[[Any], Rule], rng: Any) -> tuple[int, ...]:
        tokens, planner, decides = list(self.start), self.planner(), rule(rng)
        target, drafter, warp = cast(Any, self.target), self.drafter(), self.warp
        while len(tokens) < len(self.start) + self.length:
            round_, _ = speculative_round(target, drafter, tokens, planner.plan(), warp, decides)
            planner.observe(round_)
            self.lookaheads.add(round_.proposed)
            tests: list[Any] = [*round_.tokens, *round_.rejected]
            self.seen.update(each.proposal.source for each in tests if each.proposal)
        return tuple(tokens[len(self.start) :][: self.length])

    def expected(self) -> dict[tuple[int, ...], Fraction]:
        """Return the law of the target, by the chain rule."""
        return chain_rule(self.target, self.length, self.warp, self.start)

    def distance(self, rule: Callable[[Any], Rule]) -> tuple[Fraction, int]:
        """Return how far a rule is from the target's law, and how many outcomes there are."""
        found = self.law(rule)
        return distance(found, self.expected()), len(found)


def cases(thorough: bool = False) -> Iterator[Case]:
    """Yield what is enumerated under each rule: all sources, and all ways of deciding."""
    yield from _rounds(3, 1, 2)
    yield from _rounds(2, 2, 3)
    if thorough:
        yield from _rounds(3, 2, 3)
    yield from _vocabularies()
    yield from _sources(thorough)
    yield from _decisions(6 if thorough else 1)
    yield from _whims(12 if thorough else 4)


def _rounds(n_vocab: int, k: int, length: int) -> Iterator[Case]:
    """Yield drafts of all shapes, each end of them, and warps that cut or look back."""
    fixed = partial(FixedPlanner, k)
    for style, drafted, seed in STYLES:
        target, draft = Toy(n_vocab, seed, style), Toy(n_vocab, seed + 1001, drafted)
        yield Case("model", FIXED, target, partial(modelled, draft, n_vocab), fixed, length)
    for habit, kind in STEPWISE.items():
        target, draft = Toy(n_vocab, 0), Toy(n_vocab, 700, "zeros")
        yield Case(f"one that {habit}", FIXED, target, partial(kind, draft), fixed, length)
    fails = partial(modelled, FailsAfter(n_vocab, 700), n_vocab)
    yield Case("model that fails", FIXED, Toy(n_vocab, 0), fails, fixed, length)
    for warp in (best_two, repeats_halved):
        target, drafter = Toy(n_vocab, 0), partial(modelled, Toy(n_vocab, 9), n_vocab)
        yield Case("model, warped", FIXED, target, drafter, fixed, length, warp=warp)


def _vocabularies() -> Iterator[Case]:
    """Yield vocabularies that one side pads, more tokens, and a draft that is not warped."""
    two = partial(FixedPlanner, 2)
    more, fewer = partial(modelled, Toy(4, 2), 3), partial(modelled, Toy(3, 2), 4)
    yield Case("model, padded", FIXED, Toy(3, 1), more, two, 2, warp=repeats_halved)
    yield Case("model, short", FIXED, Toy(4, 1), fewer, two, 2, warp=repeats_halved)
    unwarped = partial(Cascade, Unwarped(cast(Any, Toy(3, 2)), VocabularyMapping.identity(3, 3)))
    yield Case("model, not warped", FIXED, Toy(3, 1), unwarped, two, warp=best_two)
    four = partial(modelled, Toy(4, 6, "zeros"), 4)
    yield Case("model of four tokens", FIXED, Toy(4, 5, "zeros"), four, two, 3)


class Unwarped(ModelSource):
    """A draft whose rows are left as they are."""

    def row(self, tokens: Sequence[int], warp: Any) -> tuple[Row, int]:
        """Return the row that the model has."""
        return super().row(tokens, keep_all)


def _sources(thorough: bool) -> Iterator[Case]:
    """Yield the shipped sources, which remember, over several rounds."""
    for names in SOURCES:
        n_vocab = 3 if "ngram" in names or thorough else 2  # phrases were learnt of three tokens
        start, length = (START, 3) if n_vocab == 3 else (SHORT_START, 4)
        planner, drafter = partial(FixedPlanner, 2), cascade(names, n_vocab)
        yield Case(names, FIXED, Toy(n_vocab, 5), drafter, planner, length, start, by_counts)
    longer = partial(FixedPlanner, 3)
    for names in ("edit", "ngram", "suffix, tail", "suffix, ngram, model"):
        yield Case(names, FIXED, Toy(3, 6), cascade(names, 3), longer, 4, START, by_counts)
    copies = "suffix, tail"
    for seed in range(4):
        target, drafter = Toy(2, seed), cascade(copies, 2)
        yield Case(copies, FIXED, target, drafter, longer, 6, SHORT_START, by_counts)


def _decisions(seeds: int) -> Iterator[Case]:
    """Yield decisions that depend on all that is known when they are made."""
    for seed in range(seeds):
        for names in ("suffix, model", "tail, suffix, model", "edit, model"):
            target, drafter = Toy(2, seed), cascade(names, 2)
            for stop, planner in (
                (WHIMS, partial(WhimsicalPlanner, 3, seed)),
                (CONTROLLER, partial(ControllerPlanner, 2)),
            ):
                yield Case(names, stop, target, drafter, planner, 4, SHORT_START, by_counts)


def _whims(seeds: int) -> Iterator[Case]:
    """Yield plans that decide anything by evidence, offers and past rounds."""
    for seed in range(seeds):
        for n_vocab, budget, length in ((2, 3, 4), (3, 2, 3)):
            target = Toy(n_vocab, seed, ("full", "zeros")[seed % 2])
            drafter = partial(_mixed, n_vocab, seed)
            planner = partial(WhimsicalPlanner, budget, seed)
            yield Case("parrot, model", WHIMS, target, drafter, planner, length)


def _mixed(n_vocab: int, seed: int) -> Cascade:
    return Cascade(Parrot(n_vocab, seed), modelled_by(Toy(n_vocab, seed + 90), n_vocab))
