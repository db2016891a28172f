"""Numbers without rounding, and rows made of them, for code that expects floats."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from assistant.decoding.row import Row


def _of_ratios(compute: Callable[[int, int, int, int], Any]) -> Callable[[Any, Any], Any]:
    """Return an operation of two fractions, a / b and c / d; other operands know it themselves."""

    def operation(self: Any, other: Any) -> Any:
        if not hasattr(other, "as_integer_ratio"):
            return NotImplemented
        return compute(*self.as_integer_ratio(), *other.as_integer_ratio())

    return operation


class Exact(Fraction):
    """A fraction that stays one in company of floats, which are fractions too.

    `Fraction` asks many questions of its operands. Here all are known to be ratios of integers, or
    to know themselves how to go about a fraction.
    """

    __slots__ = ()
    __add__ = __radd__ = _of_ratios(lambda a, b, c, d: Exact(a * d + c * b, b * d))
    __sub__ = _of_ratios(lambda a, b, c, d: Exact(a * d - c * b, b * d))
    __rsub__ = _of_ratios(lambda a, b, c, d: Exact(c * b - a * d, b * d))
    __mul__ = __rmul__ = _of_ratios(lambda a, b, c, d: Exact(a * c, b * d))
    __truediv__ = _of_ratios(lambda a, b, c, d: Exact(a * d, b * c))
    __rtruediv__ = _of_ratios(lambda a, b, c, d: Exact(c * b, d * a))
    __lt__ = _of_ratios(lambda a, b, c, d: a * d < c * b)
    __le__ = _of_ratios(lambda a, b, c, d: a * d <= c * b)
    __gt__ = _of_ratios(lambda a, b, c, d: a * d > c * b)
    __ge__ = _of_ratios(lambda a, b, c, d: a * d >= c * b)


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
