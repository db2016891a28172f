"""Numbers as text: bars of one line, sizes and durations; legible without colour."""

import itertools
import textwrap
from collections.abc import Sequence
from functools import partial
from shutil import get_terminal_size

from rich.cells import cell_len

WIDEST = 79  # cells of a printed line
LEVELS = "▁▂▃▄▅▆▇█"
MISSING = "–"  # stands for a missing figure


def bar(fraction: float, width: int) -> str:
    """Return a bar of up to `width` cells in half cells; of any fraction above 0 at least one."""
    halves = round(min(max(fraction, 0.0), 1.0) * width * 2)
    if fraction > 0:
        halves = max(halves, 1)
    return "━" * (halves // 2) + "╸" * (halves % 2)


def gauge(fraction: float, width: int) -> str:
    """Return a bar of exactly `width` cells of which the first ones are filled."""
    filled = round(min(max(fraction, 0.0), 1.0) * width)
    return "▰" * filled + "▱" * (width - filled)


def level(fraction: float) -> str:
    """Return one block character, the higher the larger the fraction."""
    return LEVELS[round(min(max(fraction, 0.0), 1.0) * (len(LEVELS) - 1))]


def sparkline(values: Sequence[float]) -> str:
    """Return a block character for each value, scaled to the largest."""
    largest = max(values, default=0.0)
    return "".join(level(value / largest if largest else 0.0) for value in values)


def shares(parts: Sequence[float], width: int) -> tuple[int, ...]:
    """Divide `width` cells in proportion to `parts`; their sum is `width`, or 0 without parts."""
    total, ends, so_far = sum(parts), [0], 0.0
    for part in parts:
        so_far += part
        ends.append(round(so_far / total * width) if total > 0 else 0)
    return tuple(end - start for start, end in itertools.pairwise(ends))


def width() -> int:
    """Return how many cells a printed line may have, in a narrow terminal, too."""
    return min(WIDEST, get_terminal_size().columns - 1)


def wrap(text: str, indent: str = "") -> list[str]:
    """Return a text in indented lines of `width` cells; a longer word stays whole."""
    by_words = partial(textwrap.wrap, break_long_words=False, break_on_hyphens=False)
    return by_words(text, max(width(), 9), initial_indent=indent, subsequent_indent=indent)


def align(rows: Sequence[Sequence[str]], left_columns: int = 1) -> list[list[str]]:
    """Return rows padded to columns: `left_columns` to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    pads = [str.ljust if i < left_columns else str.rjust for i in range(len(widths))]
    padded = (zip(pads, row, widths, strict=True) for row in rows)
    return [[pad(cell, width) for pad, cell, width in row] for row in padded]


def size(count: float) -> str:
    """Return a number of bytes with a decimal unit, as disks are sold."""
    if count >= 1e9:
        return f"{count / 1e9:.2f} GB"
    if count >= 999_950:
        return f"{count / 1e6:.0f} MB"
    return f"{count / 1e3:.1f} kB" if count >= 1e3 else f"{count:.0f} B"


def duration(seconds: float) -> str:
    """Return a duration in seconds, minutes or hours."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def remaining(seconds: float | None) -> str:
    """Return the remaining time as a suffix; empty while unknown."""
    return "" if seconds is None else f", about {duration(seconds)} left"


def by_parts(text: str, cells: int) -> str:
    """Return as many of the parts between ` · ` as fit into `cells`, at least the first."""
    parts = text.split(" · ")
    while len(parts) > 1 and cell_len(" · ".join(parts)) > cells:
        parts.pop()
    return " · ".join(parts)
