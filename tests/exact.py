"""The exact output law of decoding code, found by running that very code.

A uniform number is drawn as the whole interval [0, 1) and decides as late as it can: comparing it
with a threshold inside its interval forks the run, and each branch keeps its part of the interval.
Running all branches to the end gives every outcome its probability, as a fraction without error.
The code under test is run as it is: it cannot tell these numbers from others.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any, TypeVar

import numpy as np

from assistant.warp import Row

Outcome = TypeVar("Outcome", bound=Hashable)


class Exact(Fraction):
    """A fraction that stays one in company of floats, which are fractions too."""

    def __add__(self, other):
        return Exact(Fraction.__add__(self, Fraction(other)))

    def __sub__(self, other):
        return Exact(Fraction.__sub__(self, Fraction(other)))

    def __mul__(self, other):
        if isinstance(other, View):
            return NotImplemented
        return Exact(Fraction.__mul__(self, Fraction(other)))

    def __truediv__(self, other):
        return Exact(Fraction.__truediv__(self, Fraction(other)))

    def __rsub__(self, other):
        return Exact(other) - self

    __radd__, __rmul__ = __add__, __mul__


class LateUniforms:
    """A stream of uniforms whose forks follow a script, and are noted where the script ends."""

    def __init__(self, script: Sequence[bool]) -> None:
        self.decisions = list(script)
        self._next = 0
        self._intervals: list[_Interval] = []

    def random(self) -> Any:
        self._intervals.append(_Interval())
        return View(self, self._intervals[-1], Fraction(1))

    def decide(self) -> bool:
        if self._next == len(self.decisions):
            self.decisions.append(True)
        self._next += 1
        return self.decisions[self._next - 1]

    @property
    def probability(self) -> Fraction:
        result = Fraction(1)
        for interval in self._intervals:
            result *= interval.high - interval.low
        return result


class _Interval:
    def __init__(self) -> None:
        self.low, self.high = Fraction(0), Fraction(1)


class View:
    """A uniform number times a factor, as the code under test sees it."""

    def __init__(self, stream: LateUniforms, interval: _Interval, factor: Fraction) -> None:
        self._stream, self._interval, self._factor = stream, interval, factor

    def __mul__(self, factor) -> "View":
        return View(self._stream, self._interval, self._factor * Fraction(factor))

    __rmul__ = __mul__

    def __lt__(self, bound) -> bool:
        if bound is self:  # numpy compares a key with the one before, at first itself
            return False
        if not self._factor:
            return bool(bound > 0)
        threshold = Fraction(bound) / self._factor
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


class Toy:
    """A model whose logits are probabilities, a function of everything before and of a seed.

    `style` is what the rows are like: "full", "zeros", "one-hot", "uniform", or "disjoint" by the
    parity of the seed.
    """

    n_ctx = 64
    max_rows = 16
    can_roll_back = True

    def __init__(self, n_vocab: int, seed: int, style: str = "full") -> None:
        self.n_vocab, self._seed, self._style = n_vocab, seed, style
        self._rows: dict[tuple[int, ...], tuple[Exact, ...]] = {}

    def probs(self, prefix: Sequence[int]) -> tuple[Exact, ...]:
        prefix = tuple(prefix)
        if prefix not in self._rows:
            self._rows[prefix] = normalised(self._weights(Random(repr((self._seed, prefix)))))
        return self._rows[prefix]

    def _weights(self, random: Random) -> list[int]:
        tokens = range(self.n_vocab)
        match self._style:
            case "full":
                weights = [random.randint(1, 6) for _ in tokens]
            case "zeros":
                weights = [random.choice((0, 0, 1, 2, 5)) for _ in tokens]
            case "one-hot":
                weights = [0 for _ in tokens]
            case "uniform":
                weights = [1 for _ in tokens]
            case "disjoint":
                weights = [(token + self._seed) % 2 for token in tokens]
        if not any(weights):
            weights[random.randrange(self.n_vocab)] = 1
        return weights

    def logits(self, tokens: Sequence[int], rows: int = 1) -> Any:
        result = np.empty((rows, self.n_vocab), object)
        for i in range(rows):
            result[i] = self.probs(tokens[: len(tokens) - rows + 1 + i])
        return result

    def cached(self, tokens: Sequence[int]) -> int:
        return 0


def chain_rule(
    model: Toy, length: int, warp: Callable[[Any, Sequence[int]], Row] = keep_all, start=()
) -> dict[tuple[int, ...], Fraction]:
    """Return the law of the `length` tokens after `start` by definition: a product of rows."""
    result: dict[tuple[int, ...], Fraction] = {}
    for tokens in product(range(model.n_vocab), repeat=length):
        probability = Fraction(1)
        for i, token in enumerate(tokens):
            history = [*start, *tokens[:i]]
            probability *= Fraction(warp(model.probs(history), history).prob(token))
        if probability:
            result[tokens] = probability
    return result


def completed(
    partial: dict[tuple[int, ...], Fraction],
    model: Toy,
    length: int,
    warp: Callable[[Any, Sequence[int]], Row] = keep_all,
) -> dict[tuple[int, ...], Fraction]:
    """Return the law of `length` tokens, where those that `partial` lacks follow the chain rule."""
    result: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for tokens, probability in partial.items():
        kept = tokens[:length]
        for rest, conditional in chain_rule(model, length - len(kept), warp, kept).items():
            result[kept + rest] += probability * conditional
    return dict(result)
