"""What evaluations cost, measured in turns: whatever disturbs one of them disturbs the others."""

from collections.abc import Callable, Sequence
from time import perf_counter

from models.base import Model

WIDTHS = (1, 2, 4, 8)
TURNS = 12


def last(model: Model, tokens: Sequence[int], rows: int = 1) -> Callable[[], object]:
    """Return what evaluates the last `rows` of `tokens`, the others being cached already."""
    return lambda: model.logits(tokens, rows)


def seconds(works: Sequence[Callable[[], object]], turns: int = TURNS) -> list[float]:
    """Return how long each takes, the slower half of its turns left out: noise only ever adds."""
    taken: list[list[float]] = [[] for _ in works]
    for turn in range(turns + 1):
        for work, times in zip(works, taken, strict=True):
            started = perf_counter()
            work()
            if turn:  # the first one fills the caches
                times.append(perf_counter() - started)
    half = (turns + 1) // 2
    return [sum(sorted(times)[:half]) / half for times in taken]
