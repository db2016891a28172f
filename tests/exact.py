"""The exact output law of decoding code, found by running that very code.

A uniform number is drawn as the whole interval [0, 1) and decides as late as it can: comparing it
with a threshold inside its interval forks the run, and each branch keeps its part of the interval.
Running all branches to the end gives every outcome its probability, as a fraction without error.
The code under test is run as it is: it cannot tell these numbers from others.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from assistant.warp import Row

Outcome = TypeVar("Outcome", bound=Hashable)


class Exact(Fraction):
    """A fraction that stays one in company of floats, which are fractions too.

    `Fraction` asks many questions of its operands. Here all are known to be ratios of integers.
    """

    __slots__ = ()

    def __add__(self, other):
        (a, b), (c, d) = self.as_integer_ratio(), other.as_integer_ratio()
        return Exact(a * d + c * b, b * d)

    def __sub__(self, other):
        (a, b), (c, d) = self.as_integer_ratio(), other.as_integer_ratio()
        return Exact(a * d - c * b, b * d)

    def __mul__(self, other):
        if isinstance(other, View):
            return NotImplemented
        (a, b), (c, d) = self.as_integer_ratio(), other.as_integer_ratio()
        return Exact(a * c, b * d)

    def __truediv__(self, other):
        (a, b), (c, d) = self.as_integer_ratio(), other.as_integer_ratio()
        return Exact(a * d, b * c)

    def __rsub__(self, other):
        return Exact(other) - self

    def __rtruediv__(self, other):
        return Exact(other) / self

    def __lt__(self, other):
        if isinstance(other, View):
            return NotImplemented
        (a, b), (c, d) = self.as_integer_ratio(), other.as_integer_ratio()
        return a * d < c * b

    def __le__(self, other):
        if isinstance(other, View):
            return NotImplemented
        (a, b), (c, d) = self.as_integer_ratio(), other.as_integer_ratio()
        return a * d <= c * b

    def __gt__(self, other):
        return NotImplemented if isinstance(other, View) else not self <= other

    def __ge__(self, other):
        return NotImplemented if isinstance(other, View) else not self < other

    __radd__, __rmul__ = __add__, __mul__


class LateUniforms:
    """A stream of uniforms whose forks follow a script, and are noted where the script ends."""

    def __init__(self, script: Sequence[bool]) -> None:
        self.decisions = list(script)
        self._next = 0
        self._intervals: list[_Interval] = []

    def random(self) -> Any:
        self._intervals.append(_Interval())
        return View(self, self._intervals[-1], Exact(1))

    def decide(self) -> bool:
        if self._next == len(self.decisions):
            self.decisions.append(True)
        self._next += 1
        return self.decisions[self._next - 1]

    @property
    def probability(self) -> Fraction:
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

    def __mul__(self, factor) -> "View":
        return View(self._stream, self._interval, self._factor * factor)

    __rmul__ = __mul__

    def __lt__(self, bound) -> bool:
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

    def __gt__(self, bound) -> bool:
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


def row_of(weights: Sequence[Any]) -> Row:
    """Return the row of exact probabilities, without its zeros."""
    return _row_of(tuple(weights))


@lru_cache(maxsize=100_000)
def _row_of(weights: tuple[Any, ...]) -> Row:
    ids = np.array([token for token, weight in enumerate(weights) if weight > 0], np.intp)
    return Row(ids, exact_array(weights)[ids])


def exact_array(values: Sequence[Any]) -> Any:
    array = np.empty(len(values), object)
    array[:] = [Exact(value) for value in values]
    return array


def keep_all(logits: Any, _history: Sequence[int]) -> Row:
    """A warp for toys whose logits are probabilities already."""
    return row_of(logits)


def normalised(weights: Sequence[Any]) -> tuple[Exact, ...]:
    total = Exact(sum(weights, Fraction(0)))
    return tuple(Exact(weight) / total for weight in weights)
