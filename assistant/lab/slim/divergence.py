"""How far the next tokens of one model are from those of another, along text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.base import Logits, Model, Vocab

Numbers = npt.NDArray[np.float64]

PASSAGES, PASSAGE_TOKENS = 8, 160
"""How many parts of the sample text are read, evenly spaced over it, and how long each is."""
LEAD_TOKENS = 32
"""Tokens at the beginning of each that are read only: without a context anything may follow."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """What was found along text; all of it is about the distribution at temperature 1."""

    tokens: int  # positions that were compared
    mean: float  # of the KL divergence, in nats
    p99: float  # its 99th percentile
    agreement: float  # how often the most likely token is the same


def kl_divergence(original: Logits, other: Logits) -> Numbers:
    """Return KL(P || Q) of each row, in nats: the sum over tokens of P (log P - log Q).

    P and Q are the softmax of `original` and `other`, both (rows, n_vocab). Computed in float64:
    the sum is some thousandths, the difference of numbers near 10.
    """
    log_p, log_q = _log_softmax(original), _log_softmax(other)
    return np.asarray((np.exp(log_p) * (log_p - log_q)).sum(axis=-1))


def _log_softmax(logits: Logits) -> Numbers:
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def passages(vocab: Vocab, texts: Sequence[str]) -> list[list[int]]:
    """Return tokens from the middle of texts that are evenly spaced over all of them."""
    long = [text for text in texts if len(text) > PASSAGE_TOKENS]
    chosen = [long[i * len(long) // PASSAGES] for i in range(PASSAGES)]
    return [vocab.tokenize(text[len(text) // 2 :])[:PASSAGE_TOKENS] for text in chosen]


def divergence(original: Model, other: Model, texts: Iterable[Sequence[int]]) -> Divergence:
    """Compare two models of one vocabulary along tokens."""
    found, agreed = list[float](), list[bool]()
    for tokens in texts:
        for end, rows in _batches(len(tokens), min(original.max_rows, other.max_rows)):
            first, second = (model.logits(tokens[:end], rows) for model in (original, other))
            found += kl_divergence(first, second).tolist()
            agreed += (first.argmax(axis=-1) == second.argmax(axis=-1)).tolist()
    p99 = float(np.quantile(found, 0.99))
    return Divergence(len(found), float(np.mean(found)), p99, float(np.mean(agreed)))


def _batches(length: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield how far to read and how many rows to take, until the end of a passage."""
    for start in range(min(LEAD_TOKENS, length - 1), length, most):
        end = min(start + most, length)
        yield end, end - start
