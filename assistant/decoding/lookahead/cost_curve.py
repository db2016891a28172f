"""A cost curve that follows what rounds show: context growth, heat, battery, a busy machine."""

from collections import deque
from collections.abc import Mapping
from math import exp, isfinite, log
from statistics import median

from assistant.decoding.lookahead.staircase import Staircase

RECENT = 9
"""Evaluations whose median is believed, at first the measured: four slow ones change nothing."""
STALE = 64
"""Evaluations of the target after which what a width has shown before is of another time."""


class Curve:
    """Seconds by tokens, corrected by every evaluation that is seen.

    Of a width that was seen lately, the median of its last evaluations is believed. Every other one
    is believed to take as much longer than measured as those do, in the median: a machine that
    others keep busy, or that is at rest again, is so for all widths, and for the draft as well. So
    what one width shows corrects all, and what was slow while others were busy, and has been left
    alone since, is soon believed to be usual again.

    Args:
        measured: seconds by tokens, as `Staircase` takes them.
        target: the curve of the target, where this one is a draft's. The target is evaluated in
            every round: what it shows tells of both, and counts the time; the draft has no say.

    Raises:
        ValueError: nothing was measured, or something that is no duration.
    """

    def __init__(self, measured: Mapping[int, float], target: "Curve | None" = None) -> None:
        self._measured = Staircase(measured)
        self._target = target or self
        self._evaluations = 0
        self._recent: dict[int, deque[float]] = {}  # by tokens: logarithms against the measured
        self._at: dict[int, int] = {}  # when they were seen, in evaluations of the target

    def __call__(self, tokens: int) -> float:
        """Return the seconds that an evaluation of `tokens` tokens takes now."""
        return self._measured(tokens) * exp(self._change(tokens))

    def saw(self, tokens: int, seconds: float) -> None:
        """Learn from an evaluation; what is no duration is ignored, as when a clock was set."""
        if not (seconds > 0 and isfinite(seconds)):
            return
        if not self._is_fresh(tokens):
            self._recent[tokens] = deque([self._target._usual] * RECENT, RECENT)
        self._recent[tokens].append(log(seconds / self._measured(tokens)))
        self._evaluations += 1
        self._at[tokens] = self._target._evaluations

    def _change(self, tokens: int) -> float:
        """Return the logarithm of how much longer than measured an evaluation takes now."""
        return median(self._recent[tokens]) if self._is_fresh(tokens) else self._target._usual

    @property
    def _usual(self) -> float:
        """The same of a width that was not seen lately."""
        fresh = [median(recent) for n, recent in self._recent.items() if self._is_fresh(n)]
        return median(fresh) if fresh else 0.0

    def _is_fresh(self, tokens: int) -> bool:
        return tokens in self._at and self._target._evaluations - self._at[tokens] < STALE
