"""A cost curve that follows what rounds show: context growth, heat, battery, a busy machine."""

from collections import deque
from collections.abc import Mapping
from math import exp, isfinite, log
from statistics import median

from assistant.lookahead.staircase import Staircase

RECENT = 9
"""Evaluations whose median is believed, at first the measured: four slow ones change nothing."""
KEPT = 0.99
"""What a width keeps of what was learnt of it alone, each time that another one is seen."""


class Curve:
    """Seconds by tokens, corrected by every evaluation that is seen.

    The logarithm of how much longer evaluations take than was measured has two parts: one that all
    widths share, and one of each width's own. What the median of its last evaluations is off by is
    believed of both alike. So a width that was never seen follows by half what one other has shown,
    and by more what several have; and one that was slow while the machine was busy, and has been
    left alone since, is believed to be usual again some day.

    Args:
        measured: seconds by tokens, as `Staircase` takes them.
        slope: seconds that each token takes longer for each token before it: attention.

    Raises:
        ValueError: nothing was measured, or something that is no duration.
    """

    def __init__(self, measured: Mapping[int, float], slope: float = 0.0) -> None:
        self.depth = 0
        """How many tokens are before those that are evaluated."""
        self._measured = Staircase(measured)
        self._slope = slope
        self._shared = 0.0
        self._own: dict[int, float] = {}  # by tokens
        self._errors: dict[int, deque[float]] = {}  # lately, against what was believed

    def __call__(self, tokens: int) -> float:
        """Return the seconds that an evaluation of `tokens` tokens takes now."""
        return self._expected(tokens) * exp(self._shared + self._own.get(tokens, 0.0))

    @property
    def lately(self) -> dict[int, float]:
        """What is believed by now of what was measured, with no tokens before it."""
        measured = self._measured.measured
        return {n: s * exp(self._shared + self._own.get(n, 0.0)) for n, s in measured.items()}

    def saw(self, tokens: int, seconds: float) -> None:
        """Learn from an evaluation; what is no duration is ignored, as when a clock was set."""
        if not (seconds > 0 and isfinite(seconds)):
            return
        errors = self._errors.setdefault(tokens, deque([0.0] * RECENT, RECENT))
        errors.append(log(seconds / self(tokens)))
        half = median(errors) / 2
        self._shared += half
        self._own = {n: KEPT * own if n != tokens else own for n, own in self._own.items()}
        self._own[tokens] = self._own.get(tokens, 0.0) + half
        for n, each in self._errors.items():
            believed = 2 * half if n == tokens else half
            self._errors[n] = deque((error - believed for error in each), RECENT)

    def _expected(self, tokens: int) -> float:
        return self._measured(tokens) + self._slope * tokens * self.depth
