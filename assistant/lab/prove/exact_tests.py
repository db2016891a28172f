"""Tests whose p-values are exact: no large numbers are taken for granted."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Cell = TypeVar("Cell", bound=Hashable)
Floats = npt.NDArray[np.float64]

FIRST_LOOK, SECOND_LOOK = 5_000, 1_000_000
"""Permutations: few settle that two samples are alike, many how unlikely it is that they are."""
SUSPICIOUS = 0.002
"""Below this p-value a second look is taken, and the first one forgotten."""
MIN_DEALS_AS_FAR = 100
"""Deals as far apart as what was found, to know how many there are."""
_AT_ONCE = 5_000


def alike(one: Counter[Cell], other: Counter[Cell], rng: np.random.Generator) -> float:
    """Return the p-value of two samples having the same law, whatever it is.

    All ways of dealing out the pooled sample are as likely then; p is the share of those that are
    as far apart, by chi-square, as the two are.
    """
    cells = sorted(one.keys() | other.keys(), key=repr)
    ours = np.array([one[cell] for cell in cells])
    pooled = ours + np.array([other[cell] for cell in cells])
    found = _statistic(ours[None], pooled)[0]
    p_value = _share(found, pooled, int(ours.sum()), FIRST_LOOK, rng)
    if p_value < SUSPICIOUS:
        p_value = _share(found, pooled, int(ours.sum()), SECOND_LOOK, rng)
    return p_value


def _share(found: float, pooled: Any, size: int, looks: int, rng: np.random.Generator) -> float:
    """Return the share of deals that are at least as far apart as what was found.

    Once there are `MIN_DEALS_AS_FAR` of those it is known well enough. Besag and Clifford 1991,
    "Sequential Monte Carlo p-values".
    """
    as_far, done = 0, 0
    while done < looks and as_far < MIN_DEALS_AS_FAR:
        count = min(_AT_ONCE, looks - done)
        dealt = rng.multivariate_hypergeometric(pooled, size, size=count, method="marginals")
        as_far += int(np.count_nonzero(_statistic(dealt, pooled) >= found * (1 - 1e-9)))
        done += count
    return (as_far + 1) / (done + 1)


def _statistic(dealt: Any, pooled: Any) -> Floats:
    """Return chi-square of one sample's counts against the pooled ones, by row."""
    share = dealt.sum(axis=1, keepdims=True) / pooled.sum()
    wanted = share * pooled
    statistic: Floats = ((dealt - wanted) ** 2 / (wanted * (1 - share))).sum(axis=1)
    return statistic


def roughly_alike(ours: Any, theirs: Any) -> Floats:
    """Return about the p-value of pairs of samples, by row: for simulations.

    Chi-square with cells that hold ten or more on average, by the cube root of Wilson and Hilferty
    1931.
    """
    pooled = ours + theirs
    counts, wanted = _merged(ours, pooled), _merged(pooled, pooled) / 2
    degrees = max(1, int(np.count_nonzero(wanted.any(axis=0))) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = np.where(wanted > 0, 2 * (counts - wanted) ** 2 / wanted, 0)
    cube = (gaps.sum(axis=1) / degrees) ** (1 / 3)
    z = (cube - (1 - 2 / (9 * degrees))) / math.sqrt(2 / (9 * degrees))
    return np.array([math.erfc(each / math.sqrt(2)) / 2 for each in z])


def _merged(counts: Any, pooled: Any) -> Any:
    """Return counts in which what is rare shares a cell."""
    rare = pooled.mean(axis=0) < 20
    return np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])


def as_expected(chances: Sequence[float], successes: int) -> tuple[float, float]:
    """Return z and the p-value, both sides, of so many successes among independent trials.

    p is exact: the law of the sum is worked out trial by trial.
    """
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    mean = math.fsum(chances)
    variance = math.fsum(chance * (1 - chance) for chance in chances)
    z = (successes - mean) / math.sqrt(variance) if variance > 0 else 0.0
    below, above = float(law[: successes + 1].sum()), float(law[successes:].sum())
    return z, min(1.0, 2 * min(below, above))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for being many: the least counts as often as there are tests.

    Holm 1979, "A Simple Sequentially Rejective Multiple Test Procedure". All below a level together
    are a false alarm with at most that probability, however they depend on each other.
    """
    corrected, worst = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for rank, i in enumerate(order):
        worst = max(worst, min(1.0, p_values[i] * (len(p_values) - rank)))
        corrected[i] = worst
    return corrected
