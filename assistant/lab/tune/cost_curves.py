"""The cost curves of a pair at two depths, measured with care, and what they mean for decoding."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from assistant.decoding.lookahead.cost_measurement import SHALLOW, Times, varied
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.theory import TYPICAL, best_lookahead, break_even, fastest
from assistant.lab.opening import Opener
from assistant.lab.progress_meter import Meter, effort
from assistant.lab.protocol import Depth, OutlookSource, Payoff, RateOutlook
from assistant.request import Setup, Tuning
from models.native.model import MAX_ROWS, NativeModel


@dataclass(frozen=True, slots=True)
class Side:
    """A model, and the widths that matter in its role."""

    role: Literal["target", "draft"]
    path: Path
    max_rows: int
    tried: Sequence[int]
    """Widths at which settings compete."""
    measured: Sequence[int]
    """Widths of the curve."""
    weight: float
    """The effort of its tokens, beside the target's."""


def sides(setup: Setup) -> list[Side]:
    """Return the target, and the draft if there is one."""
    widths = (*range(1, 18), 20, 24, 28, 32)
    target = Side("target", setup.target, MAX_ROWS, (1, 2, 4, 8), widths, 1.0)
    if setup.draft is None:
        return [target]
    weight = setup.draft.stat().st_size / setup.target.stat().st_size
    return [target, Side("draft", setup.draft, 1, (1, 2), (1, 2, 3, 4, 8, 16, 64), weight)]


DEEP = 1024
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class MeasuredCurve:
    """A model at one depth or two, and its fastest evaluations so far."""

    side: Side
    models: Mapping[int, NativeModel]
    """By depth: one for each, so that no context has to be read twice."""
    seconds: dict[int, dict[int, float]] = field(default_factory=dict)
    """By depth and width."""

    def measure(self, meter: Meter) -> None:
        """Go once through all widths."""
        meter.weight = self.side.weight
        for width in self.side.measured:
            for depth, model in self.models.items():
                fastest = self.seconds.setdefault(depth, {})
                took = meter.time(model, width, depth)
                fastest[width] = min(took, fastest.get(width, took))

    @property
    def times(self) -> Times:
        """What it takes at the shallow depth."""
        return Times(self.seconds[SHALLOW])


def planned(side: Side) -> float:
    """Return the effort of opening and measuring one."""
    return (ROUNDS * 2 * sum(map(effort, side.measured)) + DEEP) * side.weight


def open_curve(
    side: Side, tuning: Tuning, opener: Opener, meter: Meter, opened: ExitStack
) -> MeasuredCurve:
    """Open a model twice, and have it read its contexts; one made for short texts has only one."""
    models = {}
    for depth in (SHALLOW, DEEP):
        model = opened.enter_context(opener.open(side.path, tuning, side.max_rows))
        if depth + max(side.measured) <= model.n_ctx:
            model.logits(varied(depth, model.n_vocab), rows=0)
            models[depth] = model
    meter.skip(DEEP * side.weight)
    return MeasuredCurve(side, models)


LOOKAHEADS = (1, 2, 3, 4, 5, 7, 11, 15, 31)
ACCEPTANCE_RATES = (0.6, 0.8, 0.9)


def at_depth(
    tokens: int, verify: Mapping[int, float], draft: Mapping[int, float] | None = None
) -> Depth:
    """Return costs, and from which acceptance rate on they pay."""
    step_s, verifying = draft[1] if draft else None, _verifying(verify)
    payoffs = tuple(
        Payoff(
            k,
            break_even(k, verifying[k + 1] + k * step_s, verify[1]) if step_s else None,
            break_even(k, verifying[k + 1], verify[1]),
        )
        for k in LOOKAHEADS
        if k + 1 in verify
    )
    prices: dict[OutlookSource, float | None] = {"draft": step_s, "copying": 0.0}
    outlooks = tuple(
        RateOutlook(rate, source, *best_lookahead(rate, verifying, price))
        for source, price in prices.items()
        if price is not None
        for rate in ACCEPTANCE_RATES
    )
    return Depth(tokens, verify, draft or {}, payoffs, outlooks)


def speedup(
    ratios: Mapping[int, float],
    verify: Mapping[int, float],
    draft: Mapping[int, float] | None = None,
) -> float:
    """Return how much faster another target answers, each of the two with its best lookahead.

    `ratios` has its seconds over those of the target in use, `verify`, by width.
    """
    step_s = draft[1] if draft else 0.0
    usual = _verifying({width: verify[width] for width in ratios})
    other = _verifying({width: verify[width] * ratio for width, ratio in ratios.items()})
    return fastest(TYPICAL, other, step_s)[1] / fastest(TYPICAL, usual, step_s)[1]


def _verifying(evaluations: Mapping[int, float]) -> dict[int, float]:
    """Return the seconds in which as many tokens are verified; a batch may be filled up."""
    costs = Costs(evaluations, {})
    return {width: costs.verify(width) for width in evaluations}
