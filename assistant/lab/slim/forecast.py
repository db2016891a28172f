"""How much faster a draft makes its target, from what was measured of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assistant.decoding.lookahead.theory import tokens_along


@dataclass(frozen=True, slots=True)
class SpeedForecast:
    """Tokens per second as a multiple of those of ArS, each passage at the lookahead best for it.

    That is what mode auto comes to, which proposes nothing where nothing is gained.
    """

    speedup: float
    lookaheads: tuple[int, ...]  # by passage; 0 where it is not used


def expected_tokens(overlaps: Sequence[float], k: int) -> float:
    """Return the expected tokens of a round that proposes `k`, beginning anywhere in a passage.

    Acceptance comes in stretches, so the product is taken along the text and not of an average.
    """
    starts = range(max(1, len(overlaps) - k + 1))
    return float(np.mean([tokens_along(overlaps[start : start + k]) for start in starts]))


def forecast(
    passages: Sequence[Sequence[float]], step: float, verify: Mapping[int, float]
) -> SpeedForecast:
    """Return the forecast for a draft whose step takes `step` evaluations of the target.

    `passages` are the probabilities of acceptance, by position; `verify` is the cost of a batch by
    its width, in evaluations of one token: a round of k proposals costs k steps and a batch of
    k + 1.
    """
    costs = {width - 1: (width - 1) * step + cost for width, cost in verify.items()}
    best = [
        min((cost / expected_tokens(overlaps, k), k) for k, cost in costs.items())
        for overlaps in passages
    ]
    return SpeedForecast(1 / float(np.mean([cost for cost, _ in best])), tuple(k for _, k in best))
