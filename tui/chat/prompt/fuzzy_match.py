"""Finding a name by a few of its letters."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FuzzyMatch:
    """A name that goes with what was typed."""

    name: str
    marked: tuple[int, ...] = ()  # which characters of the name were typed


def ranked(names: Iterable[str], typed: str, most: int) -> tuple[FuzzyMatch, ...]:
    """Return the names that have the typed letters in order, the tightest fit first."""
    if not typed:
        return tuple(FuzzyMatch(name) for name, _ in zip(names, range(most), strict=False))
    fits: list[tuple[int, int, int, str, tuple[int, ...]]] = []
    for name in names:
        last = name.rfind("/", 0, len(name) - 1) + 1  # where the last part of the path begins
        marked = _tightest(name, typed, last) or _tightest(name, typed, 0)
        if marked:
            outside = sum(mark < last for mark in marked)
            fits.append((outside, marked[-1] - marked[0], len(name), name, marked))
    fits.sort()
    return tuple(FuzzyMatch(name, marked) for *_, name, marked in fits[:most])


def _tightest(name: str, typed: str, start: int) -> tuple[int, ...]:
    best = marked = _marks(name, typed, start)
    while marked and best[-1] - best[0] >= len(typed):  # tighter is possible
        marked = _marks(name, typed, marked[0] + 1)
        if marked and marked[-1] - marked[0] < best[-1] - best[0]:
            best = marked
    return best


def _marks(name: str, typed: str, start: int) -> tuple[int, ...]:
    """Return where the letters are: forwards to where they end first, and back from there."""
    lower, typed = name.lower(), typed.lower()
    at = start - 1
    for letter in typed:
        at = lower.find(letter, at + 1)
        if at < 0:
            return ()
    marked: list[int] = []
    at += 1
    for letter in reversed(typed):
        at = lower.rfind(letter, start, at)
        marked.append(at)
    return tuple(reversed(marked))
