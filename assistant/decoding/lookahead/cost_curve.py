"""Cost curves: the seconds of an evaluation by its tokens, as measured and as later seen."""

from collections import deque
from collections.abc import Mapping
from math import exp, inf, isfinite, log
from statistics import median
from typing import NamedTuple

BLOCK = 4  # tokens that llama.cpp's kernels for a CPU take at once


def is_curve(measured: Mapping[int, float]) -> bool:
    """Say whether these are seconds by tokens, from one token on."""
    return 1 in measured and all(n > 0 and 0 < s < inf for n, s in measured.items())


class Staircase:
    """Seconds by tokens, for any number of tokens; what was measured is kept as it is.

    Whole blocks lie on straight lines. Tokens beyond a block lie between that line, where a kernel
    that knows no blocks keeps, and the sum of two evaluations, of the blocks and of the rest: the
    measured number of tokens next to them tells where.

    Raises:
        ValueError: one token was not measured, or something is not a duration.
    """

    def __init__(self, measured: Mapping[int, float]) -> None:
        if not is_curve(measured):
            raise ValueError(f"not evaluation times: {dict(measured)}")
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


RECENT = 9
"""Evaluations whose median is believed, with what is usual for those that are not there yet: four
slow ones change nothing."""
STALE = 64
"""Evaluations of the target after which what a width has shown before is of another time."""


DEEP = 1024
"""Tokens of context from which on attention takes enough time to be told from noise."""
LEARN_EVERY = 8
"""Evaluations between two looks what attention takes: a look is not for nothing."""
ATTENTIONS = (0.0, *(2 ** (i / 2 - 5) for i in range(19)))
"""Attention's part of an evaluation that is thought of, against all else of one token's."""


class Seen(NamedTuple):
    """An evaluation: its seconds, and how many tokens there were before its own."""

    seconds: float
    depth: int


class Curve:
    """Seconds by tokens, corrected by every evaluation that is seen.

    They are what was measured at the beginning of a text, and more the deeper one is: each token of
    a batch looks at all tokens before it, so `attention` seconds are added for each such pair. It
    is learnt where one is, from widths that were seen there: it is what makes them agree best on
    how much busier the machine is than when it was measured.

    Of a width that was seen lately, the median of its last evaluations is believed. Every other one
    is believed to take as much longer than measured as those do, in the median: a machine that
    others keep busy, or that is at rest again, is so for all widths, and for the draft as well. So
    what one width shows corrects all, and what was slow while others were busy, and has been left
    alone since, is soon believed to be usual again.

    Args:
        measured: seconds by tokens, as `Staircase` takes them.
        attention: what is known of it from earlier texts.
        target: the curve of the target, where this one is a draft's. The target is evaluated in
            every round: what it shows tells of both, and counts the time; the draft has no say.

    Raises:
        ValueError: one token was not measured, or something is not a duration.
    """

    def __init__(
        self, measured: Mapping[int, float], attention: float = 0.0, target: "Curve | None" = None
    ) -> None:
        self._measured = Staircase(measured)
        self.attention = attention
        self.depth = 0
        """How many tokens come before the ones that are evaluated next."""
        self._target = target or self
        self._evaluations = 0
        self._recent: dict[int, deque[Seen]] = {}  # by tokens
        self._logs: dict[int, list[float]] = {}  # of the same, against what is expected at rest
        self._at: dict[int, int] = {}  # when they were seen, in evaluations of the target
        self._usual = 0.0  # the logarithm of how much longer than at rest widths take lately

    def __call__(self, tokens: int) -> float:
        """Return the seconds that an evaluation of `tokens` tokens takes now."""
        return self._at_rest(tokens, self.depth) * exp(self._change(tokens))

    def measure(self, measured: Mapping[int, float]) -> None:
        """Replace what was measured; what evaluations have shown is compared with it from now on.

        Raises:
            ValueError: as of a new curve.
        """
        self._measured = Staircase(measured)
        self._compare()

    def saw(self, tokens: int, seconds: float) -> None:
        """Learn from an evaluation; what is not a duration is ignored, as when a clock was set."""
        if not (seconds > 0 and isfinite(seconds)):
            return
        if not self._is_fresh(tokens):
            self._recent[tokens] = deque(maxlen=RECENT)
        self._recent[tokens].append(Seen(seconds, self.depth))
        self._evaluations += 1
        self._at[tokens] = self._target._evaluations
        self._logs[tokens] = self._against(tokens, self.attention)
        if self.depth >= DEEP and self._target is self and not self._evaluations % LEARN_EVERY:
            self._learn_attention()
        self._find_usual()

    def _at_rest(self, tokens: int, depth: int, attention: float | None = None) -> float:
        """Return the seconds of an evaluation while nobody else is busy."""
        each = self.attention if attention is None else attention
        return self._measured(tokens) + each * tokens * depth

    def _against(self, tokens: int, attention: float) -> list[float]:
        """Return how much longer evaluations took than at rest, as logarithms."""
        return [
            log(seen.seconds / self._at_rest(tokens, seen.depth, attention))
            for seen in self._recent[tokens]
        ]

    def _learn_attention(self) -> None:
        """Take the attention with which the widths that were seen lately agree best."""
        fresh = [n for n in self._recent if self._is_fresh(n)]
        if len(fresh) < 2:
            return

        def spread(attention: float) -> float:
            logs = [median(self._against(n, attention)) for n in fresh]
            middle = median(logs)
            return sum(abs(each - middle) for each in logs)

        pair_s = self._measured(1) / self.depth
        # Attention is a part of each evaluation, so it took no longer than the last ones did.
        most_s = min(self._recent[n][-1].seconds / n for n in fresh) / self.depth
        thinkable = (self.attention, *(part * pair_s for part in ATTENTIONS))
        self.attention = min((min(each, most_s) for each in thinkable), key=spread)
        self._compare()

    def _compare(self) -> None:
        self._logs = {n: self._against(n, self.attention) for n in self._recent}
        self._find_usual()

    def _find_usual(self) -> None:
        fresh = [n for n in self._logs if self._is_fresh(n)]
        # A width seen less often is believed to change as the others do: it has no say in that.
        known = [n for n in fresh if len(self._logs[n]) > RECENT // 2]
        self._usual = median([self._change(n) for n in known or fresh] or [0.0])

    def _change(self, tokens: int) -> float:
        """Return the logarithm of how much longer than at rest an evaluation takes now."""
        usual = self._target._usual
        if not self._is_fresh(tokens):
            return usual
        logs = self._logs[tokens]
        return median([*logs, *[usual] * (RECENT - len(logs))])

    def _is_fresh(self, tokens: int) -> bool:
        return tokens in self._at and self._target._evaluations - self._at[tokens] < STALE
