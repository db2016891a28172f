"""How often each token of a vocabulary is used."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assistant.lab.slim.sample_text import written_everywhere
from models.base import Vocab
from models.llama.weights import Weights

OWN_WEIGHT = 10
"""How many times a person's own text counts: it tells best what will be written again."""


def counted(path: Path, own: Iterable[str]) -> npt.NDArray[np.int64]:
    """Return how often each token of a model's vocabulary is used, here and by everybody."""
    weights = Weights(path, vocab_only=True)
    try:
        return counts(weights.vocab, weights.vocab.size, written_everywhere(), own)
    finally:
        weights.close()


def counts(
    vocab: Vocab, size: int, common: Iterable[str], own: Iterable[str] = ()
) -> npt.NDArray[np.int64]:
    """Return how often each of `size` tokens is used in `common` text and in the person's own."""
    total = np.zeros(size, np.int64)
    for weight, texts in ((1, common), (OWN_WEIGHT, own)):
        for text in texts:
            total += weight * np.bincount(vocab.tokenize(text), minlength=size)
    return total
