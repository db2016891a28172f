"""Plots as SVG that takes its colours from the page: CSS variables, so light and dark both work."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from math import ceil, floor, isfinite, log10

from assistant.bench.report import Plot, Point, Series
from tui.safe import safe

WIDTH, HEIGHT = 760, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 44, 40, 52
COLOURS = 8
GAP = 0.22
"""The share of a category that is left free between its bars and the next one's."""
LEGEND_CHARACTER = 7.4
"""How wide a character of the legend is, about."""


def svg(plot: Plot) -> str:
    """Return a plot as an `<svg>` element."""
    frame = Frame(plot)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_text(plot.title)}">',
        *_axes(plot, frame),
        *_drawn(plot, frame),
        *_legend(plot),
        "</svg>",
    ]
    return "\n".join(parts)


class Frame:
    """From values to places in the picture."""

    def __init__(self, plot: Plot) -> None:
        self._log = plot.x_log
        points = [point for series in plot.series for point in series.points]
        xs = [self._scaled(point.x) for point in points] or [0.0, 1.0]
        ys = [y for point in points for y in (point.y, point.low, point.high) if y is not None]
        ys += [plot.reference] if plot.reference is not None else []
        self.y_ticks = ticks(min([0.0, *ys]), max(ys, default=1.0) or 1.0)
        self.low, self.high = self.y_ticks[0], self.y_ticks[-1]
        if plot.categories:
            self.left, self.right = -0.5, len(plot.categories) - 0.5
        else:
            pad = 0.03 * ((max(xs) - min(xs)) or 1.0)
            self.left, self.right = min(xs) - pad, max(xs) + pad

    def x(self, value: float) -> float:
        """Return where a value of the horizontal axis is."""
        share = (self._scaled(value) - self.left) / (self.right - self.left)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Return where a value of the vertical axis is."""
        share = (value - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def _scaled(self, value: float) -> float:
        return log10(value) if self._log else value


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about `count` round values from below `low` to above `high`."""
    if not (isfinite(low) and isfinite(high)) or high <= low:
        return [0.0, 1.0]
    rough = (high - low) / count
    power = 10.0 ** floor(log10(rough))
    step = next(power * each for each in (1, 2, 2.5, 5, 10) if power * each >= rough * (1 - 1e-9))
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)]


def _axes(plot: Plot, frame: Frame) -> Iterator[str]:
    for value in frame.y_ticks:
        y = frame.y(value)
        yield _line(LEFT, y, WIDTH - RIGHT, y, "var(--line)", 1)
        yield _label(LEFT - 8, y + 4, _number(value, frame.y_ticks), "end")
    yield from _x_axis(plot, frame)
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f' transform="rotate(-90 16 {middle:.1f})"'
    yield _label(16, middle, plot.y_label, "middle", turned)
    yield _label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, plot.x_label, "middle")


def _x_axis(plot: Plot, frame: Frame) -> Iterator[str]:
    below = HEIGHT - BOTTOM + 20
    if plot.categories:
        yield from (
            _label(frame.x(i), below, name, "middle") for i, name in enumerate(plot.categories)
        )
        return
    xs = sorted({point.x for series in plot.series for point in series.points})
    if plot.x_log or len(xs) <= 16:
        places = xs
    else:
        places = [each for each in ticks(xs[0], xs[-1], 8) if xs[0] <= each <= xs[-1]]
    last = -WIDTH
    for value in places:
        if frame.x(value) - last > 26:  # else the labels would touch
            last = int(frame.x(value))
            yield _label(frame.x(value), below, _number(value, places), "middle")


def _drawn(plot: Plot, frame: Frame) -> Iterator[str]:
    if plot.reference is not None:
        y = frame.y(plot.reference)
        yield _line(LEFT, y, WIDTH - RIGHT, y, "var(--soft)", 1.5, "5 4")
        yield _label(WIDTH - RIGHT + 6, y + 4, plot.reference_name, "start")
    bars = [i for i, series in enumerate(plot.series) if series.style == "bars"]
    for i, series in enumerate(plot.series):
        if series.style == "bars":
            yield from _bars(series, frame, bars.index(i), len(bars), _colour(i))
        else:
            yield from _curve(series, frame, _colour(i))


def _bars(series: Series, frame: Frame, place: int, count: int, colour: str) -> Iterator[str]:
    width = (1 - GAP) / count
    for point in series.points:
        left = point.x - (1 - GAP) / 2 + place * width
        x, right = frame.x(left), frame.x(left + width)
        y, ground = frame.y(point.y), frame.y(max(0.0, frame.low))
        yield (
            f'<rect x="{x + 1:.1f}" y="{min(y, ground):.1f}" width="{right - x - 2:.1f}" '
            f'height="{abs(ground - y):.1f}" rx="2" style="fill:{colour};fill-opacity:.85">'
            f"<title>{_text(series.name)}: {point.y:.3g}</title></rect>"
        )
        yield from _whisker(point, (x + right) / 2, frame, "var(--ink)")
        if right - x > 26:
            top = frame.y(max(point.y, point.high or point.y))
            yield _label((x + right) / 2, top - 5, f"{point.y:.2f}", "middle", ' class="value"')


def _curve(series: Series, frame: Frame, colour: str) -> Iterator[str]:
    places = [(frame.x(point.x), frame.y(point.y)) for point in series.points]
    if series.style != "points":
        dashes = "6 4" if series.style == "dashed" else ""
        yield from (_line(*a, *b, colour, 2.2, dashes) for a, b in pairwise(places))
    for point, (x, y) in zip(series.points, places, strict=True):
        yield from _whisker(point, x, frame, colour)
        if series.style == "points" or (series.style == "line" and len(places) <= 40):
            yield (
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.6" style="fill:{colour}">'
                f"<title>{_text(series.name)}: {point.y:.3g}</title></circle>"
            )


def _whisker(point: Point, x: float, frame: Frame, colour: str) -> Iterator[str]:
    if point.low is None or point.high is None:
        return
    low, high = frame.y(point.low), frame.y(point.high)
    yield _line(x, low, x, high, colour, 1.4)
    yield from (_line(x - 4, y, x + 4, y, colour, 1.4) for y in (low, high))


def _legend(plot: Plot) -> Iterator[str]:
    if len(plot.series) < 2:
        return
    x = float(LEFT)
    for i, series in enumerate(plot.series):
        if series.style == "dashed":
            yield _line(x, 16, x + 14, 16, _colour(i), 2.2, "4 3")
        else:
            fill = f"fill:{_colour(i)}"
            yield f'<rect x="{x:.0f}" y="10" width="12" height="12" rx="2" style="{fill}"/>'
        yield _label(x + 18, 21, series.name, "start")
        x += 34 + LEGEND_CHARACTER * len(series.name)


def _colour(number: int) -> str:
    return f"var(--s{number % COLOURS})"


def _line(
    x: float, y: float, to_x: float, to_y: float, colour: str, width: float, dashes: str = ""
) -> str:
    dashed = f";stroke-dasharray:{dashes}" if dashes else ""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" '
        f'style="stroke:{colour};stroke-width:{width};stroke-linecap:round{dashed}"/>'
    )


def _label(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{_text(text)}</text>'


def _number(value: float, among: Sequence[float]) -> str:
    """Return a value with as many digits as tell it from its neighbours."""
    step = min((abs(b - a) for a, b in pairwise(among) if a != b), default=1.0)
    digits = max(0, ceil(-log10(step) - 1e-9)) if step < 1 else 0
    if any(abs(each * 10**digits - round(each * 10**digits)) > 1e-6 for each in among):
        digits += 1
    return f"{value:.{digits}f}"


def _text(text: str) -> str:
    return escape(safe(text))
