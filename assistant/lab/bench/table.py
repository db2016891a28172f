"""Tables of figures, with how sure they are: shown in a terminal, as Markdown or as JSON."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np
import numpy.typing as npt

RESAMPLES = 4000
LEVEL = 0.95
Values = npt.NDArray[np.float64]
MISSING = "–"


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate, and where the truth lies in 95 of 100 cases; unknown from a single value."""

    value: float
    low: float | None = None
    high: float | None = None


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


Cell = str | float | Interval | None


@dataclass(frozen=True, slots=True)
class ResultTable:
    """Rows of values under a header.

    Each column has a name and the format of its numbers; those without a format are names.
    """

    title: str
    header: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    bars: int | None = None  # the column whose figures are drawn as bars, too

    @property
    def names(self) -> int:
        """How many of the first columns are names."""
        return sum(not form for _, form in self.header)

    def text(self, row: Sequence[Cell]) -> list[str]:
        """Return the cells of a row as text."""
        return [_text(cell, form) for cell, (_, form) in zip(row, self.header, strict=True)]

    def share(self, row: Sequence[Cell]) -> float:
        """Return the length of a row's bar, from 0 to 1; the longest one of all is 1."""
        assert self.bars is not None
        values = [_value(each[self.bars]) for each in self.rows]
        return _value(row[self.bars]) / (max(values) or 1.0)


def _value(cell: Cell) -> float:
    value = cell.value if isinstance(cell, Interval) else cell
    return value if isinstance(value, float | int) else 0.0


def _text(cell: Cell, form: str) -> str:
    if isinstance(cell, Interval):
        ends = "" if cell.low is None else f" [{cell.low:{form}}, {cell.high:{form}}]"
        return f"{cell.value:{form}}{ends}"
    return MISSING if cell is None else cell if isinstance(cell, str) else format(cell, form)
