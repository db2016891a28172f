"""The exact output law of decoding code, found by running that very code.

A uniform number is drawn as the whole interval [0, 1) and decides as late as it can: comparing it
with a threshold inside its interval forks the run, and each branch keeps its part of the interval.
Running all branches to the end gives every outcome its probability, as a fraction without error.
The code under test is run as it is: it cannot tell these numbers from others.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from assistant.lab.prove.exact import Exact

Outcome = TypeVar("Outcome", bound=Hashable)


class LateUniforms:
    """A stream of uniforms whose forks follow a script, and are noted where the script ends."""

    def __init__(self, script: Sequence[bool]) -> None:
        self.decisions = list(script)
        """Which way each fork went."""
        self._next = 0
        self._intervals: list[_Interval] = []

    def random(self) -> Any:
        """Return the next one."""
        self._intervals.append(_Interval())
        return View(self, self._intervals[-1], Exact(1))

    def decide(self) -> bool:
        """Take a fork."""
        if self._next == len(self.decisions):
            self.decisions.append(True)
        self._next += 1
        return self.decisions[self._next - 1]

    @property
    def probability(self) -> Fraction:
        """The probability of going this way."""
        result = Exact(1)
        for interval in self._intervals:
            result *= interval.high - interval.low
        return result


class _Interval:
    def __init__(self) -> None:
        self.low, self.high = Exact(0), Exact(1)


class View:
    """A uniform number times a factor, as the code under test sees it."""

    def __init__(self, stream: LateUniforms, interval: _Interval, factor: Exact) -> None:
        self._stream, self._interval, self._factor = stream, interval, factor

    def __mul__(self, factor: Any) -> "View":
        return View(self._stream, self._interval, self._factor * factor)

    __rmul__ = __mul__

    def __lt__(self, bound: Any) -> bool:
        if bound is self:  # numpy compares a key with the one before, at first itself
            return False
        if not self._factor:
            return bool(bound > 0)
        threshold = Exact(bound) / self._factor
        if threshold <= self._interval.low:
            return False
        if threshold >= self._interval.high:
            return True
        if self._stream.decide():
            self._interval.high = threshold
            return True
        self._interval.low = threshold
        return False

    # Equality has probability 0, so "at most" is "below" and "above" is "not below".
    __le__ = __lt__

    def __gt__(self, bound: Any) -> bool:
        return not self < bound

    __ge__ = __gt__


def law(experiment: Callable[[LateUniforms], Outcome]) -> dict[Outcome, Fraction]:
    """Return the probability of each outcome of `experiment`, which may draw uniforms."""
    result: dict[Outcome, Fraction] = defaultdict(Fraction)
    script: list[bool] = []
    while True:
        uniforms = LateUniforms(script)
        outcome = experiment(uniforms)
        result[outcome] += uniforms.probability
        script = uniforms.decisions
        while script and not script[-1]:
            script.pop()
        if not script:
            return dict(result)
        script[-1] = False


def distance(one: Mapping[Outcome, Fraction], other: Mapping[Outcome, Fraction]) -> Fraction:
    """Return the total variation between two laws: 0 if they are the same, 1 at most."""
    outcomes = one.keys() | other.keys()
    gaps = (abs(one.get(each, Fraction(0)) - other.get(each, Fraction(0))) for each in outcomes)
    return sum(gaps, Fraction(0)) / 2
