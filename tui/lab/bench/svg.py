"""Plots as SVG that takes its colours from the page: CSS variables, so light and dark both work."""

from collections.abc import Iterator
from html import escape
from itertools import pairwise
from math import ceil, radians, sin

from assistant.lab.bench.report import Plot, Point, Series
from tui.lab.bench.svg_frame import LINE, ROOM, TURN, WIDTH, Frame, number, shortened, ticks, wide
from tui.safe import safe

COLOURS = 8
GAP = 0.22
"""The share of a category left free between its bars and the next one's."""


def svg(plot: Plot) -> str:
    """Return a plot as an `<svg>` element."""
    frame = Frame(plot)
    size = f'viewBox="0 0 {WIDTH} {frame.height}"'
    parts = [
        f'<svg {size} role="img" aria-label="{shown(plot.title)}">',
        *_axes(plot, frame),
        *_drawn(plot, frame),
        "</svg>",
    ]
    return "\n".join(parts)


def _axes(plot: Plot, frame: Frame) -> Iterator[str]:
    for value in frame.y_ticks:
        y = frame.y(value)
        yield line(frame.left, y, frame.right, y, "var(--line)", 1)
        yield label(frame.left - 8, y + 4, number(value, frame.y_ticks), "end")
    yield from _categories(plot, frame) if plot.categories else _places(plot, frame)
    middle = (frame.top + frame.bottom) / 2
    turned = f' transform="rotate(-90 16 {middle:.1f})"'
    yield label(16, middle, shortened(plot.y_label, ROOM), "middle", turned)
    name = shortened(plot.x_label, frame.right - frame.left)
    yield label((frame.left + frame.right) / 2, frame.height - 8, name, "middle")


def _categories(plot: Plot, frame: Frame) -> Iterator[str]:
    """Yield names below their places; where they are turned and still too many, some of them."""
    apart = frame.slot(plot) * (sin(radians(TURN)) if frame.turned else 1)
    every = ceil(LINE / apart) if frame.turned else 1
    for i, name in enumerate(frame.categories):
        x, y = frame.x(i), frame.bottom + LINE
        if not frame.turned:
            yield label(x, y, name, "middle")
        elif i % every == 0:
            y -= 4
            yield label(x, y, name, "end", f' transform="rotate({-TURN} {x:.1f} {y:.1f})"')


def _places(plot: Plot, frame: Frame) -> Iterator[str]:
    xs = sorted({point.x for series in plot.series for point in series.points})
    if len(xs) <= 16:
        places = xs
    else:
        places = [each for each in ticks(xs[0], xs[-1], 8) if xs[0] <= each <= xs[-1]]
    end = 0.0
    for value in places:
        x, name = frame.x(value), number(value, places)
        half = min(wide(name) / 2, WIDTH - x)
        if x - half > end:  # else the labels would touch
            end = x + half + 6
            yield label(x, frame.bottom + LINE, name, "middle")


def _drawn(plot: Plot, frame: Frame) -> Iterator[str]:
    bars = [i for i, series in enumerate(plot.series) if series.style == "bars"]
    for i, series in enumerate(plot.series):
        if series.style == "bars":
            yield from _bars(series, frame, bars.index(i), len(bars), series_colour(i))
        else:
            yield from _curve(series, frame, series_colour(i))
    if plot.reference is not None:
        y = frame.y(plot.reference)
        yield line(frame.left, y, frame.right, y, "var(--ink)", 1.5, "5 4")
        yield label(frame.right + 6, y + 4, frame.reference_name, "start")
    for i in bars:
        yield from _values(plot.series[i], frame, bars.index(i), len(bars))


def _bars(series: Series, frame: Frame, place: int, count: int, colour: str) -> Iterator[str]:
    for point in series.points:
        x, right = _bar(point, frame, place, count)
        y, ground = frame.y(point.y), frame.ground()
        width, height = max(right - x - 2, 0.5), abs(ground - y)
        yield bar(x + 1, min(y, ground), width, height, colour, _says(series, point))
        yield from _whisker(point, (x + right) / 2, frame, "var(--ink)")


def _values(series: Series, frame: Frame, place: int, count: int) -> Iterator[str]:
    """Yield what bars say, where there is room above them."""
    for point in series.points:
        x, right = _bar(point, frame, place, count)
        text = f"{point.y:.2f}"
        if right - x >= wide(text) - 2:
            top = frame.y(max(point.y, point.high or point.y))
            yield label((x + right) / 2, top - 5, text, "middle", ' class="value"')


def _bar(point: Point, frame: Frame, place: int, count: int) -> tuple[float, float]:
    """Return where a bar begins and ends; `count` of them stand beside each other."""
    width = (1 - GAP) / count
    left = point.x - (1 - GAP) / 2 + place * width
    return frame.x(left), frame.x(left + width)


def _curve(series: Series, frame: Frame, colour: str) -> Iterator[str]:
    places = [(frame.x(point.x), frame.y(point.y)) for point in series.points]
    if series.style != "points":
        dashes = "6 4" if series.style == "dashed" else ""
        yield from (line(*a, *b, colour, 2.2, dashes) for a, b in pairwise(places))
    for point, (x, y) in zip(series.points, places, strict=True):
        yield from _whisker(point, x, frame, colour)
        if series.style == "points" or (series.style == "line" and len(places) <= 40):
            yield dot(x, y, colour, _says(series, point))


def _whisker(point: Point, x: float, frame: Frame, colour: str) -> Iterator[str]:
    if point.low is None or point.high is None:
        return
    low, high = frame.y(point.low), frame.y(point.high)
    yield line(x, low, x, high, colour, 1.4)
    yield from (line(x - 4, y, x + 4, y, colour, 1.4) for y in (low, high))


def _says(series: Series, point: Point) -> str:
    return f"{series.name}: {point.y:.3g}"


def series_colour(number: int) -> str:
    """Return the colour of a series, as the page names it."""
    return f"var(--s{number % COLOURS})"


def line(
    x: float, y: float, to_x: float, to_y: float, colour: str, width: float, dashes: str = ""
) -> str:
    """Return a straight line."""
    dashed = f";stroke-dasharray:{dashes}" if dashes else ""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" '
        f'style="stroke:{colour};stroke-width:{width};stroke-linecap:round{dashed}"/>'
    )


def dot(x: float, y: float, colour: str, says: str) -> str:
    """Return a dot; what it says is seen where the mouse rests on it."""
    title = f"<title>{shown(says)}</title>"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.6" style="fill:{colour}">{title}</circle>'


def bar(x: float, y: float, width: float, height: float, colour: str, says: str) -> str:
    """Return a filled rectangle; what it says is seen where the mouse rests on it."""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    title = f"<title>{shown(says)}</title>"
    return f'<rect {place} rx="2" style="fill:{colour};fill-opacity:.85">{title}</rect>'


def label(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    """Return a text; `more` are attributes."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{shown(text)}</text>'


def shown(text: str) -> str:
    """Return a text that is only a text, whatever is in it."""
    return escape(safe(text))
