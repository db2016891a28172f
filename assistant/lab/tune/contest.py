"""Which settings evaluate faster: A and B take turns, so that disturbances affect both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any, TypeVar

from assistant.request import Tuning
from models.machine import other_counts
from models.native import loaded

ROUNDS = 5
MARGIN = 0.03
"""What another setting has to be faster by: less is noise, and not worth being different."""
CLEARLY = 0.75
"""The share of pairs that it has to win; of 20 it would by chance in 2 of 100 cases."""

Timed = TypeVar("Timed")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One setting that may be better otherwise than usual."""

    what: str
    setting: str
    value: bool | int

    def on(self, tuning: Tuning) -> Tuning:
        """Return a tuning with this setting."""
        change: dict[str, Any] = {self.setting: self.value}
        return replace(tuning, **change)


def candidates(threads: int | None) -> list[Candidate]:
    """Return what to try; `threads` that the user chose are not touched."""
    others = [Candidate("flash attention off", "flash_attention", False)]
    if loaded.engine().can_repack:
        others.append(Candidate("weights not repacked", "repack", False))
    counts = other_counts() if threads is None else []
    return others + [Candidate(f"threads: {count}", "threads", count) for count in counts]


@dataclass(frozen=True, slots=True)
class Result:
    """How a model did beside the usual one."""

    ratios: Mapping[int, float]  # its fastest evaluation over the other's, by width
    wins: float  # the share of pairs of evaluations, one after another, in which it was faster

    @property
    def ratio(self) -> float:
        """The geometric mean over the widths."""
        return exp(sum(map(log, self.ratios.values())) / len(self.ratios))

    @property
    def is_faster(self) -> bool:
        """Whether it was clearly faster, and not by chance."""
        return self.ratio < 1 - MARGIN and self.wins >= CLEARLY


def contest(
    usual: Timed, other: Timed, widths: Sequence[int], timer: Callable[[Timed, int], float]
) -> Result:
    """Time evaluations of two models in turns."""
    pairs: dict[int, list[tuple[float, float]]] = {width: [] for width in widths}
    for turn in range(ROUNDS):
        for width in widths:
            in_order = (other, usual) if turn % 2 else (usual, other)
            seconds = {model: timer(model, width) for model in in_order}
            pairs[width].append((seconds[usual], seconds[other]))
    won = [theirs < ours for times in pairs.values() for ours, theirs in times]
    fastest = {width: [*map(min, zip(*times, strict=True))] for width, times in pairs.items()}
    ratios = {width: theirs / ours for width, (ours, theirs) in fastest.items()}
    return Result(ratios, sum(won) / len(won))


def winners(results: Mapping[Candidate, Result]) -> list[Candidate]:
    """Return the candidates that are faster than the usual, the best of each setting."""
    best: dict[str, Candidate] = {}
    for candidate in sorted(results, key=lambda each: results[each].ratio):
        if results[candidate].is_faster:
            best.setdefault(candidate.setting, candidate)
    return list(best.values())
