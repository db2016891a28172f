"""The exact output law of decoding code, found by running the code itself.

A uniform number is not drawn: it stands for the interval [0, 1) and decides as late as it can.
Where the code compares it with a threshold inside its interval, both answers are followed, one
after another, and each keeps its part of the interval. Following every path to its end gives every
outcome its probability, as a fraction without error. The code under test is run as it is: it cannot
tell these numbers from others.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

Outcome = TypeVar("Outcome", bound=Hashable)


class LateUniforms:
    """A stream of uniforms whose comparisons follow a script, and hold where the script ends."""

    def __init__(self, script: Sequence[bool]) -> None:
        self.decisions = list(script)
        """How each comparison ended."""
        self.probability = Fraction(1)
        """The probability that they all end so."""
        self._next = 0

    def random(self) -> Any:
        """Return the next one."""
        return LateUniform(self, [Fraction(0), Fraction(1)])

    def decide(self) -> bool:
        """Return how the next comparison ends."""
        if self._next == len(self.decisions):
            self.decisions.append(True)
        self._next += 1
        return self.decisions[self._next - 1]


class LateUniform:
    """A uniform number times a factor, as the code under test sees it."""

    def __init__(
        self, stream: LateUniforms, interval: list[Fraction], factor: Fraction = Fraction(1)
    ) -> None:
        self._stream, self._interval, self._factor = stream, interval, factor

    def __mul__(self, factor: Any) -> "LateUniform":
        return LateUniform(self._stream, self._interval, self._factor * Fraction(factor))

    __rmul__ = __mul__

    def __lt__(self, bound: Any) -> bool:
        if bound is self:  # numpy compares a key with the one before, at first itself
            return False
        if not self._factor:
            return bool(bound > 0)
        (low, high), threshold = self._interval, Fraction(bound) / self._factor
        if not low < threshold < high:
            return threshold >= high
        less = self._stream.decide()
        self._interval[:] = (low, threshold) if less else (threshold, high)
        self._stream.probability *= (threshold - low if less else high - threshold) / (high - low)
        return less

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
