"""How sure a figure is that is made of several answers."""

from collections.abc import Sequence
from math import exp, log

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


def geometric_mean(ratios: Sequence[float]) -> Interval:
    """Return the geometric mean of a ratio of each item."""
    logs = mean([log(ratio) for ratio in ratios])
    low, high = (None if each is None else exp(each) for each in (logs.low, logs.high))
    return Interval(exp(logs.value), low, high)
