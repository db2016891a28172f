"""How a plot is laid out: margins as wide as what stands in them, round numbers on its axes."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, cos, floor, isfinite, log10, radians, sin

from rich.cells import cell_len

from assistant.lab.bench.report import Plot
from tui.safe import safe

WIDTH = 760
ROOM = 268
"""How high the part is in which values are drawn."""
NARROW, USUAL, BROAD, DOUBLE = 5.4, 8.4, 13.0, 16.0
"""The largest width of 13 px characters in DejaVu Sans, the widest of the usual fonts."""
NARROW_ONES, BROAD_ONES = frozenset("fijlrtIJ .,:;'|!()[]/·-"), frozenset("mwMWOQ@%&<>=+~±×…#_—")
LINE = 20
TURN = 35
"""By how many degrees category names are turned if they would touch."""
MAX_NAME, MAX_TURNED_NAME = 320, 130
"""How much of a name is shown."""


class Frame:
    """From values to places in the picture, and how much of it the words around them need."""

    def __init__(self, plot: Plot) -> None:
        points = [point for series in plot.series for point in series.points]
        xs = [point.x for point in points] or [0.0, 1.0]
        ys = [y for point in points for y in (point.y, point.low, point.high) if y is not None]
        ys += [plot.reference] if plot.reference is not None else []
        self.y_ticks = ticks(min([0.0, *ys]), max([0.0, *ys]) or 1.0)
        self._low, self._high = self.y_ticks[0], self.y_ticks[-1]
        if plot.categories:
            self._first, self._last = -0.5, len(plot.categories) - 0.5
        else:
            pad = 0.03 * ((max(xs) - min(xs)) or 1.0)
            self._first, self._last = min(xs) - pad, max(xs) + pad
        self._lay_out(plot)

    def _lay_out(self, plot: Plot) -> None:
        self.left = 40 + max(wide(number(each, self.y_ticks)) for each in self.y_ticks)
        self.reference_name = shortened(plot.reference_name, MAX_TURNED_NAME)
        self.right = WIDTH - max(36.0, wide(self.reference_name) + 10)
        names, below = [shortened(name, MAX_NAME) for name in plot.categories], 24.0
        self.turned = any(wide(name) + 4 > self.slot(plot) for name in names)
        if self.turned:
            names = [shortened(name, MAX_TURNED_NAME) for name in names]
            most = max(map(wide, names))
            self.left = max(self.left, most * cos(radians(TURN)))
            below = 20 + most * sin(radians(TURN))
        self.categories = tuple(names)
        self.top = 24.0
        self.bottom = self.top + ROOM
        self.height = ceil(self.bottom + below + (LINE + 4 if plot.x_label else 4))

    def slot(self, plot: Plot) -> float:
        """Return how wide a category is."""
        return (self.right - self.left) / max(1, len(plot.categories))

    def x(self, value: float) -> float:
        """Return where a value of the horizontal axis is."""
        share = (value - self._first) / (self._last - self._first)
        return self.left + share * (self.right - self.left)

    def y(self, value: float) -> float:
        """Return where a value of the vertical axis is."""
        share = (value - self._low) / (self._high - self._low)
        return self.bottom - share * ROOM

    def ground(self) -> float:
        """Return where bars stand."""
        return self.y(max(0.0, self._low))


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about `count` round values from below `low` to above `high`."""
    if not (isfinite(low) and isfinite(high)) or high <= low:
        return [0.0, 1.0]
    rough = (high - low) / count
    power = 10.0 ** floor(log10(rough))
    step = next(power * each for each in (1, 2, 2.5, 5, 10) if power * each >= rough * (1 - 1e-9))
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)]


def wide(text: str) -> float:
    """Return how wide a text is, about."""
    return sum(map(_wide, safe(text)))


def shortened(text: str, most: float) -> str:
    """Return a text that is at most so wide."""
    text = safe(text)
    if wide(text) <= most:
        return text
    while text and wide(text) + BROAD > most:
        text = text[:-1]
    return f"{text.rstrip()}…"


def number(value: float, among: Sequence[float]) -> str:
    """Return a value with as many digits as distinguish it from its neighbours."""
    step = min((abs(b - a) for a, b in pairwise(among) if a != b), default=1.0)
    if step < 1e-4 or max(map(abs, among)) >= 1e7:
        return f"{value:.3g}"
    digits = max(0, ceil(-log10(step) - 1e-9)) if step < 1 else 0
    if any(abs(each * 10**digits - round(each * 10**digits)) > 1e-6 for each in among):
        digits += 1
    return f"{value:.{digits}f}"


def _wide(character: str) -> float:
    if character in NARROW_ONES:
        return NARROW
    if character in BROAD_ONES:
        return BROAD
    return USUAL if cell_len(character) < 2 else DOUBLE
