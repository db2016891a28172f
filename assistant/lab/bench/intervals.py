"""How sure a figure is that is made of several answers."""

from collections.abc import Callable, Sequence
from math import exp, log

import numpy as np
import numpy.typing as npt

from assistant.lab.table import Interval

RESAMPLES = 4000
LEVEL = 0.95
Values = npt.NDArray[np.float64]


def bootstrap(values: Sequence[Sequence[float]], statistic: Callable[[Values], Values]) -> Interval:
    """Return a statistic of items drawn again: the percentile interval of Efron 1979.

    Args:
        values: the figures of each item, which are drawn together.
        statistic: of an array of (..., items, figures), for all leading places at once.
    """
    data = np.asarray(values, np.float64)
    value = float(statistic(data))
    if len(data) < 2:
        return Interval(value)
    rng = np.random.default_rng(0)  # the same figures each time a report is made
    drawn = statistic(data[rng.integers(len(data), size=(RESAMPLES, len(data)))])
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(value, float(low), float(high))


def mean(values: Sequence[float]) -> Interval:
    """Return the mean of a figure of each item."""
    return bootstrap([[value] for value in values], lambda data: data[..., 0].mean(axis=-1))


def geometric_mean(ratios: Sequence[float]) -> Interval:
    """Return the geometric mean of a ratio of each item."""
    logs = mean([log(ratio) for ratio in ratios])
    low, high = (None if each is None else exp(each) for each in (logs.low, logs.high))
    return Interval(exp(logs.value), low, high)


def ratio_of_sums(pairs: Sequence[tuple[float, float]]) -> Interval:
    """Return the sum of the items' first figures over that of their second ones."""
    return bootstrap(pairs, lambda data: data[..., 0].sum(axis=-1) / data[..., 1].sum(axis=-1))
