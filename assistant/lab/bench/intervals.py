"""Means and shares of measured items, with 95 % intervals."""

from collections.abc import Sequence
from math import exp, log, sqrt
from statistics import NormalDist

import numpy as np

from assistant.lab.table import Interval

RESAMPLES = 4000
LEVEL = 0.95


def ratio_of_sums(pairs: Sequence[tuple[float, float]]) -> Interval:
    """Return the sum of the items' first figures over that of their second ones.

    The interval is that of items drawn again: the percentile interval of Efron 1979.
    """
    data = np.asarray(pairs, np.float64)
    first, second = data.sum(axis=0)
    if len(data) < 2:
        return Interval(float(first / second))
    rng = np.random.default_rng(0)  # the same figures each time a report is made
    sums = data[rng.integers(len(data), size=(RESAMPLES, len(data)))].sum(axis=1)
    low, high = np.quantile(sums[:, 0] / sums[:, 1], ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Interval(float(first / second), float(low), float(high))


def mean(values: Sequence[float]) -> Interval:
    """Return the mean of a figure of each item."""
    return ratio_of_sums([(value, 1.0) for value in values])


def share(count: int, total: int) -> Interval:
    """Return `count` of `total` as a share.

    The interval is the score interval of Wilson 1927, which has a width also where all are right.
    """
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    middle = (count + z * z / 2) / (total + z * z)
    half = z * sqrt(count * (total - count) / total + z * z / 4) / (total + z * z)
    return Interval(count / total, middle - half, middle + half)


def geometric_mean(ratios: Sequence[float]) -> Interval:
    """Return the geometric mean of a ratio of each item."""
    logs = mean([log(ratio) for ratio in ratios])
    low, high = (None if bound is None else exp(bound) for bound in (logs.low, logs.high))
    return Interval(exp(logs.value), low, high)
