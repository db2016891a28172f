"""A cost curve that follows what rounds show: context growth, heat, battery, a busy machine."""

from collections import deque
from collections.abc import Mapping
from math import exp, isfinite, log
from statistics import median

from assistant.lookahead.staircase import Staircase

RECENT = 15
"""Evaluations whose median is believed, at first the measured: seven slow ones change nothing."""


class Curve:
    """Seconds by tokens, corrected by every evaluation that is seen.

    The logarithm of how much longer evaluations take than was measured has two parts, each a
    running median: one that all widths share, and one of each width's own. A width that was never
    seen follows the shared part by half when that is known from one width, by more when from more.

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
        self._shared = deque([0.0] * RECENT, RECENT)
        self._shift = 0.0  # their median
        self._own: dict[int, deque[float]] = {}  # by tokens, beside what it follows
        self._shifts: dict[int, float] = {}  # their medians

    def __call__(self, tokens: int) -> float:
        """Return the seconds that an evaluation of `tokens` tokens takes now."""
        longer = self._followed(tokens) + self._shifts.get(tokens, 0.0)
        return self._expected(tokens) * exp(longer)

    def saw(self, tokens: int, seconds: float) -> None:
        """Learn from an evaluation; what is no duration is ignored, as when a clock was set."""
        if not (seconds > 0 and isfinite(seconds)):
            return
        longer = log(seconds / self._expected(tokens))
        self._shared.append(longer)
        self._shift = median(self._shared)
        own = self._own.setdefault(tokens, deque([0.0] * RECENT, RECENT))
        own.append(longer - self._followed(tokens))
        self._shifts[tokens] = median(own)

    def _followed(self, tokens: int) -> float:
        """Return the shared part, as far as this width is known to follow it."""
        seen = len(self._own)
        return self._shift if tokens in self._own else self._shift * seen / (seen + 1)

    def _expected(self, tokens: int) -> float:
        return self._measured(tokens) + self._slope * tokens * self.depth
