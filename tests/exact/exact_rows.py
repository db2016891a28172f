"""Numbers without rounding, and rows made of them, for code that expects floats."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from assistant.decoding.row import Row


class Exact(Fraction):
    """A fraction that stays one in company of floats, which are fractions too.

    `Fraction` asks many questions of its operands. Here all are known to be ratios of integers, or
    to know themselves how to go about a fraction.
    """

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        (a, b), (c, d) = self.as_integer_ratio(), other.as_integer_ratio()
        return Exact(a * d + c * b, b * d)

    def __sub__(self, other: Any) -> Any:
        (a, b), (c, d) = self.as_integer_ratio(), other.as_integer_ratio()
        return Exact(a * d - c * b, b * d)

    def __mul__(self, other: Any) -> Any:
        if not hasattr(other, "as_integer_ratio"):
            return NotImplemented
        (a, b), (c, d) = self.as_integer_ratio(), other.as_integer_ratio()
        return Exact(a * c, b * d)

    def __truediv__(self, other: Any) -> Any:
        (a, b), (c, d) = self.as_integer_ratio(), other.as_integer_ratio()
        return Exact(a * d, b * c)

    def __rsub__(self, other: Any) -> Any:
        return Exact(other) - self

    def __rtruediv__(self, other: Any) -> Any:
        return Exact(other) / self

    def __lt__(self, other: Any) -> Any:
        if not hasattr(other, "as_integer_ratio"):
            return NotImplemented
        (a, b), (c, d) = self.as_integer_ratio(), other.as_integer_ratio()
        return a * d < c * b

    def __le__(self, other: Any) -> Any:
        if not hasattr(other, "as_integer_ratio"):
            return NotImplemented
        (a, b), (c, d) = self.as_integer_ratio(), other.as_integer_ratio()
        return a * d <= c * b

    def __gt__(self, other: Any) -> Any:
        return not self <= other if hasattr(other, "as_integer_ratio") else NotImplemented

    def __ge__(self, other: Any) -> Any:
        return not self < other if hasattr(other, "as_integer_ratio") else NotImplemented

    __radd__, __rmul__ = __add__, __mul__


def row_of(weights: Sequence[Any]) -> Row:
    """Return the row of exact probabilities, without its zeros."""
    return _row_of(tuple(weights))


@lru_cache(maxsize=100_000)
def _row_of(weights: tuple[Any, ...]) -> Row:
    ids = np.array([token for token, weight in enumerate(weights) if weight > 0], np.intp)
    return Row(ids, exact_array(weights)[ids])


def exact_array(values: Sequence[Any]) -> Any:
    """Return numbers as an array of exact ones."""
    array = np.empty(len(values), object)
    array[:] = [Exact(value) for value in values]
    return array


def keep_all(logits: Any, _history: Sequence[int]) -> Row:
    """Warp toys whose logits are probabilities already: leave them as they are."""
    return row_of(logits)


def normalised(weights: Sequence[Any]) -> tuple[Exact, ...]:
    """Return weights as shares of their sum."""
    total = Exact(sum(weights, Fraction(0)))
    return tuple(Exact(weight) / total for weight in weights)
