"""What a benchmark shows: sections of text, tables and plots, whatever they are drawn on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from assistant.lab.bench.intervals import Interval

MISSING = "–"
Style = Literal["line", "points", "dashed", "bars"]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Rows of text; the first columns, so many as `names`, are names and the others figures."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    names: int = 1


@dataclass(frozen=True, slots=True)
class Point:
    """A value at a place, and the interval that it lies in."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together."""

    name: str
    points: tuple[Point, ...]
    style: Style = "line"


@dataclass(frozen=True, slots=True)
class Plot:
    """Series over a common axis; with `categories`, places on it are their numbers."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    categories: tuple[str, ...] = ()
    reference: float | None = None  # a level to compare with
    reference_name: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report."""

    title: str
    text: tuple[str, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    plots: tuple[Plot, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """All of it."""

    title: str
    sections: tuple[Section, ...]


def bars(
    title: str,
    y_label: str,
    values: Iterable[tuple[str, str, Interval | None]],
    reference_name: str,
    note: str = "",
) -> Plot:
    """Return bars beside the level 1, from values by category and series; None has no bar."""
    given = [(category, name, value) for category, name, value in values if value is not None]
    places = {name: i for i, name in enumerate(dict.fromkeys(each[0] for each in given))}
    points: dict[str, list[Point]] = {}
    for category, name, value in given:
        point = Point(places[category], value.value, value.low, value.high)
        points.setdefault(name, []).append(point)
    series = tuple(Series(name, tuple(each), "bars") for name, each in points.items())
    return Plot(title, "", y_label, series, tuple(places), 1.0, reference_name, note)


def interval(found: Interval | None) -> str:
    """Return an estimate and its interval as text."""
    if found is None:
        return MISSING
    if found.low is None or found.high is None:
        return f"{found.value:.2f}"
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


def number(value: float | None, digits: int = 2) -> str:
    """Return a figure as text."""
    return MISSING if value is None else f"{value:.{digits}f}"


def share(value: float | None) -> str:
    """Return a share of one as text."""
    return MISSING if value is None else f"{value:.0%}"


def sentence(parts: Sequence[str]) -> str:
    """Return a list in words."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
