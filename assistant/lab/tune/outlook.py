"""What a pair's costs mean for decoding."""

from collections.abc import Mapping

from assistant.decoding.lookahead.theory import TYPICAL, best_lookahead, break_even, fastest
from assistant.lab.tune.events import Depth, Outlook, Payoff, Source

LOOKAHEADS = (1, 2, 3, 4, 5, 7, 11, 15, 31)
ACCEPTANCE_RATES = (0.6, 0.8, 0.9)


def at_depth(
    tokens: int, verify: Mapping[int, float], draft: Mapping[int, float] | None = None
) -> Depth:
    """Return costs, and from which acceptance rate on they pay."""
    step_s = draft[1] if draft else None
    payoffs = tuple(
        Payoff(
            k,
            break_even(k, verify[k + 1] + k * step_s, verify[1]) if step_s else None,
            break_even(k, verify[k + 1], verify[1]),
        )
        for k in LOOKAHEADS
        if k + 1 in verify
    )
    prices: dict[Source, float | None] = {"draft": step_s, "copying": 0.0}
    outlooks = tuple(
        Outlook(rate, source, *best_lookahead(rate, verify, price))
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
    usual = {width: verify[width] for width in ratios}
    other = {width: verify[width] * ratio for width, ratio in ratios.items()}
    return fastest(TYPICAL, other, step_s)[1] / fastest(TYPICAL, usual, step_s)[1]
