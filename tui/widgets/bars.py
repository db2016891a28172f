"""Shares and rates drawn in one line of text, legible without colour."""

import itertools
from collections.abc import Sequence

LEVELS = "▁▂▃▄▅▆▇█"


def bar(fraction: float, width: int) -> str:
    """Return a bar of up to `width` cells, exact to half a cell; whatever is above 0 shows."""
    halves = round(min(max(fraction, 0.0), 1.0) * width * 2)
    if fraction > 0:
        halves = max(halves, 1)
    return "━" * (halves // 2) + "╸" * (halves % 2)


def gauge(fraction: float, width: int) -> str:
    """Return a bar of exactly `width` cells of which the first ones are filled."""
    filled = round(min(max(fraction, 0.0), 1.0) * width)
    return "▰" * filled + "▱" * (width - filled)


def level(fraction: float) -> str:
    """Return one character, the higher the larger the fraction."""
    return LEVELS[round(min(max(fraction, 0.0), 1.0) * (len(LEVELS) - 1))]


def sparkline(values: Sequence[float]) -> str:
    """Return a character for each value, scaled to the largest; 0 is at the bottom."""
    largest = max(values, default=0.0)
    return "".join(level(value / largest if largest else 0.0) for value in values)


def shares(parts: Sequence[float], width: int) -> tuple[int, ...]:
    """Divide `width` cells in proportion to `parts`; they add up to it, if there is anything."""
    total, ends, so_far = sum(parts), [0], 0.0
    for part in parts:
        so_far += part
        ends.append(round(so_far / total * width) if total > 0 else 0)
    return tuple(end - start for start, end in itertools.pairwise(ends))
