"""The coupled rule over toys: whatever the noise is, SpS says what ArS says.

It draws from no stream, so there is no law to enumerate; but its promise is stronger, and is held
against every noise of a kind: each token at each place has a number, one of two.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any, cast

from assistant.decoding.loops import autoregressive, speculative
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.noise import Noise
from assistant.decoding.rules.residual import residual
from assistant.decoding.rules.rule import Verdict
from assistant.decoding.sources.draft import Draft, Plan
from assistant.lab.prove.law import LateUniforms, law
from tests.exact.enumeration import FIXED, Case
from tests.exact.exact_rows import Exact, exact_array
from tests.exact.planners import FixedPlanner
from tests.exact.toy import Toy, best_two
from tests.exact.toy_sources import modelled

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


class DrawsFromTheResidual(Coupled):
    """A mistake: a mismatch is replaced from the residual."""

    def verify(self, draft: Draft, target_rows: Any, position: int) -> Verdict:
        """Accept as ever, and then go wrong."""
        verdict = super().verify(draft, target_rows, position)
        kept = verdict.accepted
        row = residual(verdict.target_rows[kept], draft.rows[kept])
        return Verdict(kept, row, verdict.target_rows, verdict.uniforms)


def differing(case: Case, rule: type[Coupled] = Coupled) -> tuple[Fraction, int]:
    """Return the share of noises with which SpS says something else, and how many outcomes."""
    texts = law(partial(_texts, case, rule))
    apart = (share for (ars, sps), share in texts.items() if ars != sps)
    return sum(apart, Fraction(0)), len(texts)


def brief(case: Case) -> Case:
    """Return a case with as many tokens as there is noise for."""
    return replace(case, length=2)


def _texts(case: Case, rule: type[Coupled], rng: LateUniforms) -> tuple[Any, Any]:
    numbers = Numbers(rng)
    target: Any = case.target
    end = len(case.start) + case.length
    said = list(case.start)
    ars = autoregressive(target, said, case.warp, rule(numbers))
    for _ in islice(ars, case.length):
        pass
    tokens, planner = list(case.start), case.planner()

    def plan() -> Plan:
        return planner.plan()

    sps = speculative(target, case.drafter(), tokens, plan, case.warp, rule(numbers))
    while len(tokens) < end:
        planner.observe(next(sps))
    return tuple(said), tuple(tokens[:end])


_DRAFT, _TWO = partial(modelled, Toy(3, 9)), partial(FixedPlanner, 2)
MISTAKEN = Case("model", FIXED, Toy(3, 0), _DRAFT, _TWO, 2, warp=best_two)
"""Where a mistake of the coupled rule shows."""
