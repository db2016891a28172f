"""A model small enough to enumerate, and its law by definition."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import numpy as np

from assistant.decoding.model import Model
from assistant.decoding.row import Row
from tests.exact.exact_rows import Exact, keep_all, normalised, row_of


class Toy(Model):
    """A model whose logits are probabilities, a function of everything before and of a seed.

    `style` is what the rows are like: "full", "zeros", "one-hot", "uniform", "sharp" if some tokens
    are all but certain and others rare, or "disjoint" by the parity of the seed.
    """

    n_ctx, max_rows = 64, 16

    def __init__(self, n_vocab: int, seed: int, style: str = "full") -> None:
        self.n_vocab, self._seed, self._style = n_vocab, seed, style
        self._rows: dict[tuple[int, ...], tuple[Exact, ...]] = {}

    def probs(self, prefix: Sequence[int]) -> tuple[Exact, ...]:
        """Return the law of the token after `prefix`."""
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
            case "sharp":
                weights = [random.choice((1, 3, 40, 900)) for _ in tokens]
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
        """Return the last `rows` laws, as a model returns logits."""
        result = np.empty((rows, self.n_vocab), object)
        for i in range(rows):
            result[i] = self.probs(tokens[: len(tokens) - rows + 1 + i])
        return result


def chain_rule(
    model: Toy,
    length: int,
    warp: Callable[[Any, Sequence[int]], Row] = keep_all,
    start: Sequence[int] = (),
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


def best_two(logits: Any, _history: Sequence[int]) -> Row:
    """A warp that cuts: the two best of a toy's probabilities, the lower ids among equals."""
    best = sorted(range(len(logits)), key=lambda token: (-logits[token], token))[:2]
    return _normalised([p if token in best else 0 for token, p in enumerate(logits)])


def repeats_halved(logits: Any, history: Sequence[int]) -> Row:
    """A warp that depends on the history: its last two tokens count half."""
    return _normalised([p / 2 if t in history[-2:] else p for t, p in enumerate(logits)])


def _normalised(weights: Sequence[Any]) -> Row:
    row = row_of(weights)
    return Row(row.ids, row.probs / row.probs.sum())
