"""How long an evaluation takes by the number of its tokens: measured, and in between."""

from collections.abc import Mapping
from math import inf

BLOCK = 4
"""Tokens that llama.cpp's kernels for a CPU take at once."""


def is_curve(measured: Mapping[int, float]) -> bool:
    """Say whether these are seconds by tokens, and at least one."""
    return bool(measured) and all(n > 0 and 0 < s < inf for n, s in measured.items())


class Staircase:
    """Seconds by tokens, for any number of tokens; what was measured is kept as it is.

    Whole blocks lie on straight lines. Tokens beyond a block lie between that line, where a kernel
    that knows no blocks keeps, and the sum of two evaluations, of the blocks and of the rest: the
    measured number of tokens next to them tells where.

    Args:
        measured: seconds by tokens.

    Raises:
        ValueError: nothing was measured, or something that is no duration.
    """

    def __init__(self, measured: Mapping[int, float]) -> None:
        if not is_curve(measured):
            raise ValueError(f"not the seconds of evaluations: {dict(measured)}")
        self.measured = dict(sorted(measured.items()))
        self._seconds = dict(measured)
        whole = [n for n in self.measured if n < BLOCK or n % BLOCK == 0]
        self._corners = whole or [*self.measured]
        self._inside = [n for n in self.measured if n not in self._corners]

    def __call__(self, tokens: int) -> float:
        """Return the seconds of an evaluation of `tokens` tokens."""
        if tokens not in self._seconds:
            self._seconds[tokens] = self._line(tokens) + self._share(tokens) * self._gap(tokens)
        return self._seconds[tokens]

    def _line(self, tokens: int) -> float:
        """Return what the straight lines through whole blocks say."""
        corners, seconds = self._corners, self.measured
        if len(corners) == 1:
            return seconds[corners[0]] * tokens / corners[0]
        low = max((n for n in corners[:-1] if n <= tokens), default=corners[0])
        high = corners[corners.index(low) + 1]
        slope = (seconds[high] - seconds[low]) / (high - low)
        if tokens > high:
            slope = max(slope, 0.0)  # noise must not make more tokens ever cheaper
        return seconds[low] + slope * (tokens - low)

    def _gap(self, tokens: int) -> float:
        """Return how much longer than the line two evaluations take, of the blocks and the rest."""
        rest = tokens % BLOCK
        if tokens < BLOCK or not rest:
            return 0.0
        return max(0.0, self._line(tokens - rest) + self._line(rest) - self._line(tokens))

    def _share(self, tokens: int) -> float:
        """Return which part of that gap is real, by the nearest width that shows it."""
        inside = [n for n in self._inside if self._gap(n) > 0]
        if not inside:
            return 0.5
        nearest = min(inside, key=lambda n: abs(n - tokens))
        share = (self.measured[nearest] - self._line(nearest)) / self._gap(nearest)
        return min(max(share, 0.0), 1.0)
