"""The coupled rule over toys: whatever the noise is, SpS emits what ArS emits.

It draws from no stream, so there is no law to enumerate; but its promise is stronger, and is held
against every noise of a kind: each token at each place has a number, one of two.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any, cast

from assistant.decoding.loops import autoregressive, speculative_round
from assistant.decoding.rules.coupled import CoupledRule, Noise
from tests.exact.enumeration import Case
from tests.exact.exact_rows import Exact, exact_array
from tests.exact.law import LateUniforms, law

LEVELS = (Exact(1), Exact(3))
"""What a number may be: far enough apart for any token to win."""


class Numbers:
    """Noise whose numbers are decided when they are first asked for."""

    def __init__(self, rng: LateUniforms) -> None:
        self._rng = rng
        self._known: dict[tuple[int, int], Exact] = {}

    def exponentials(self, position: int, ids: Sequence[int]) -> Any:
        """Return the numbers of some tokens at a position."""
        return exact_array([self._number(position, int(token)) for token in ids])

    def _number(self, position: int, token: int) -> Exact:
        key = position, token
        if key not in self._known:
            self._known[key] = LEVELS[self._rng.random() < 0.5]
        return self._known[key]


class Coupled(CoupledRule):
    """The shipped rule, with other noise."""

    def __init__(self, numbers: Numbers) -> None:
        self._noise = cast(Noise, numbers)


def differing(case: Case) -> Fraction:
    """Return the share of noises with which SpS says something else."""
    texts = law(partial(_texts, case))
    return sum((share for (ars, sps), share in texts.items() if ars != sps), Fraction(0))


def brief(case: Case) -> Case:
    """Return a case with as many tokens as there is noise for."""
    return replace(case, length=2)


def _texts(case: Case, rng: LateUniforms) -> tuple[Any, Any]:
    numbers = Numbers(rng)
    target: Any = case.target
    end = len(case.start) + case.length
    expected = list(case.start)
    ars = autoregressive(target, expected, case.warp, Coupled(numbers))
    for _ in islice(ars, case.length):
        pass
    tokens, planner, drafter = list(case.start), case.planner(), case.drafter()
    while len(tokens) < end:
        plan, rule = planner.plan(), Coupled(numbers)
        planner.observe(speculative_round(target, drafter, tokens, plan, case.warp, rule)[0])
    return tuple(expected), tuple(tokens[:end])
