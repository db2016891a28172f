"""A table of figures, which laboratories return and clients show."""

from collections.abc import Sequence
from dataclasses import dataclass

MISSING = "–"


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate, and where the truth lies in 95 of 100 cases; unknown from a single value."""

    value: float
    low: float | None = None
    high: float | None = None


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
        return sum(not spec for _, spec in self.header)

    def text(self, row: Sequence[Cell]) -> list[str]:
        """Return the cells of a row as text."""
        return [_text(cell, spec) for cell, (_, spec) in zip(row, self.header, strict=True)]

    def share(self, row: Sequence[Cell]) -> float:
        """Return the length of a row's bar, from 0 to 1; the longest one of all is 1."""
        if self.bars is None:
            return 0.0
        values = [_value(other[self.bars]) for other in self.rows]
        return _value(row[self.bars]) / (max(values) or 1.0)


def _value(cell: Cell) -> float:
    value = cell.value if isinstance(cell, Interval) else cell
    return value if isinstance(value, float | int) else 0.0


def _text(cell: Cell, spec: str) -> str:
    if isinstance(cell, Interval):
        ends = "" if cell.low is None else f" [{cell.low:{spec}}, {cell.high:{spec}}]"
        return f"{cell.value:{spec}}{ends}"
    return MISSING if cell is None else cell if isinstance(cell, str) else format(cell, spec)
