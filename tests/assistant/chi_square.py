"""A chi-square test of counts against a law, with a false-alarm rate below one in ten million.

For a chi-square variable of d degrees of freedom, P(X >= d + 2 sqrt(d t) + 2 t) <= exp(-t) (Laurent
and Massart 2000, lemma 1). A statistic beyond `bound(d, 1e-7)` is therefore a false alarm with
probability below one in ten million; the seeds are fixed, so the verdict never changes by itself.
"""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

Cell = TypeVar("Cell", bound=Hashable)


def agrees(counts: Counter[Cell], probs: Mapping[Cell, float], false_alarm: float = 1e-7) -> bool:
    return all_agree([(counts, probs)], false_alarm)


def all_agree(
    samples: Sequence[tuple[Counter[Cell], Mapping[Cell, float]]], false_alarm: float = 1e-7
) -> bool:
    """Say whether samples agree with a law each: the sum of their statistics is one too."""
    assert sum(counts.total() for counts, _ in samples) >= 500
    statistics = [statistic(*sample) for sample in samples]
    degrees = sum(each for _, each in statistics)
    assert degrees >= 3
    return sum(each for each, _ in statistics) < bound(degrees, false_alarm)


def statistic(counts: Counter[Cell], probs: Mapping[Cell, float]) -> tuple[float, int]:
    """Return chi-square and its degrees of freedom; rare outcomes share a cell."""
    assert counts.keys() <= probs.keys()
    total = sum(counts.values())
    cells: list[tuple[float, float]] = []
    rare = [0.0, 0.0]
    for outcome, prob in probs.items():
        if prob * total < 10:
            rare[0] += counts[outcome]
            rare[1] += prob * total
        else:
            cells.append((counts[outcome], prob * total))
    if rare[1] > 0:
        cells.append((rare[0], rare[1]))
    return sum((seen - wanted) ** 2 / wanted for seen, wanted in cells), len(cells) - 1


def bound(degrees: int, false_alarm: float) -> float:
    t = -math.log(false_alarm)
    return degrees + 2 * math.sqrt(degrees * t) + 2 * t
