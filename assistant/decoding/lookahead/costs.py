"""What rounds cost on this machine: evaluations of the target and the draft."""

from bisect import bisect_right
from collections import deque
from collections.abc import Mapping
from math import exp, inf, isfinite, log
from statistics import median

RECENT = 9
"""Evaluations whose median is the estimate; with fewer, the rest count as usual."""
STALE = 64  # evaluations of the target after which the samples of a width no longer count
DRAFT_SAFETY, BATCH_SAFETY = (9.0, 4.5), (2.0, 2.0)
"""Initial values of safety factors: so the bound holds where costs were measured wrongly."""
TRUST = 0.38  # the exponent of a safety factor, each time it was not needed: 9, 2.3, 1.4, 1.1


def is_curve(measured: Mapping[int, float]) -> bool:
    """Return whether these are seconds by tokens, from one token on."""
    return 1 in measured and all(n > 0 and 0 < s < inf for n, s in measured.items())


class SafetyFactor:
    """How many times as long as expected an evaluation may take, by its tokens.

    A measurement is not relied on before an answer has confirmed it: `first` is the factor until
    then, and `quarter` the lowest one where only evaluations of a quarter as many tokens have. An
    evaluation counts for all smaller numbers of tokens as well.
    """

    def __init__(self, first: float, quarter: float) -> None:
        self._first, self._quarter = first, quarter
        self._known: dict[int, float] = {}  # by the bits of the number of tokens

    def __call__(self, tokens: int) -> float:
        """Return the factor of an evaluation of `tokens` tokens; at least 1."""
        bits = tokens.bit_length()
        if wider := [factor for n, factor in self._known.items() if n >= bits]:
            return min(wider)
        quarters = [factor for n, factor in self._known.items() if n >= bits - 2]
        return max(self._quarter, *quarters) if quarters else self._first

    def observe(self, tokens: int, slower: float) -> None:
        """Observe an evaluation that took `slower` times as long as expected."""
        bits = tokens.bit_length()
        relied = self._known.get(bits, self._first) ** TRUST
        self._known[bits] = max(relied, min(slower, self._first))


class Curve:
    """Seconds of an evaluation by its tokens: as measured, corrected by recent samples.

    The median counts where a number of tokens was observed lately. Every other number takes as much
    longer than measured as those do, in the median: a busy machine slows down all evaluations, and
    those of the draft as well.
    A draft has the curve of its `target`, which is evaluated in every round: samples of that
    correct both. Without a draft its curve is empty, and its evaluations take forever. `measured`
    has seconds by tokens, with straight lines between; ValueError if one token was not measured, or
    something is not a duration.
    """

    def __init__(self, measured: Mapping[int, float], target: "Curve | None" = None) -> None:
        self._target = target or self
        self.safety = SafetyFactor(*(DRAFT_SAFETY if target else BATCH_SAFETY))
        self._evaluations = 0
        self._samples: dict[int, deque[float]] = {}  # by tokens, in seconds, newest last
        self._observed_at: dict[int, int] = {}  # by tokens, in evaluations of the target
        self._slowdown = 0.0  # the logarithm of how much longer than measured they take lately
        self.measure(measured)

    def measure(self, measured: Mapping[int, float]) -> None:
        """Replace the measured seconds, with which samples are compared; ValueError as above."""
        if not is_curve(measured) and (measured or self._target is self):
            raise ValueError(f"not evaluation times: {dict(measured)}")
        self._widths, self._measured = sorted(measured), dict(measured)
        self._find_slowdown()

    def __call__(self, tokens: int) -> float:
        """Return the seconds that an evaluation of `tokens` tokens takes now."""
        return self._measured_s(tokens) * exp(self._log_slowdown(tokens))

    def observe(self, tokens: int, seconds: float) -> None:
        """Learn from an evaluation; what is not a duration is ignored, as when a clock was set."""
        if not self._measured or not (seconds > 0 and isfinite(seconds)):
            return
        self.safety.observe(tokens, seconds / self(tokens))
        if not self._is_fresh(tokens):
            self._samples[tokens] = deque(maxlen=RECENT)
        self._samples[tokens].append(seconds)
        self._evaluations += 1
        self._observed_at[tokens] = self._target._evaluations
        self._find_slowdown()

    def _measured_s(self, tokens: int) -> float:
        if tokens not in self._measured:
            if len(self._widths) < 2:
                return self._measured.get(1, inf) * tokens
            index = min(max(1, bisect_right(self._widths, tokens)), len(self._widths) - 1)
            low, high = self._widths[index - 1 : index + 1]
            slope = (self._measured[high] - self._measured[low]) / (high - low)
            if tokens > high:
                slope = max(slope, 0.0)  # noise must not make more tokens ever cheaper
            self._measured[tokens] = self._measured[low] + slope * (tokens - low)
        return self._measured[tokens]

    def _find_slowdown(self) -> None:
        fresh = [n for n in self._samples if self._is_fresh(n)]
        # Numbers of tokens that were observed seldom are corrected by the others and do not correct
        # them. Else a draft three times as slow as measured costs more than the bound allows.
        often = [n for n in fresh if len(self._samples[n]) > RECENT // 2]
        self._slowdown = median([self._log_slowdown(n) for n in often or fresh] or [0.0])

    def _log_slowdown(self, tokens: int) -> float:
        """Return the logarithm of how much longer than measured an evaluation takes now."""
        usual = self._target._slowdown
        if not self._is_fresh(tokens):
            return usual
        samples, measured_s = self._samples[tokens], self._measured_s(tokens)
        logs = [log(seconds / measured_s) for seconds in samples]
        return median([*logs, *[usual] * (RECENT - len(logs))])

    def _is_fresh(self, tokens: int) -> bool:
        observed_at = self._observed_at.get(tokens)
        return observed_at is not None and self._target._evaluations - observed_at < STALE


class Costs:
    """The costs of evaluations, as curves t(n) of a target and its draft.

    They are given as measured seconds by tokens; ValueError as for a `Curve`.
    """

    def __init__(self, verify: Mapping[int, float], draft: Mapping[int, float]) -> None:
        self.verify = Curve(verify)
        """t(n): the seconds in which the target evaluates a batch of n tokens."""
        self.draft = Curve(draft, self.verify)
        """The seconds in which the draft reads n new tokens and gives one row; of one, a step."""
