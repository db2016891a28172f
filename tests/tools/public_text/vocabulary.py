"""The tokens that the default draft keeps: `python -m tests.tools.public_text.vocabulary`.

They are those with the lowest numbers, which are the most frequent ones of all that the tokenizer
was trained on, and those that the questions and answers in answers.jsonl have besides. The same
answers lead to the same list. Counting other text besides, such as lists of words, kept no more of
answers that were not counted.
"""

import zlib
from contextlib import closing

import numpy as np
import numpy.typing as npt

from models import catalog
from models.files.locate import locate
from models.gguf import read_vocabulary
from models.native.engine import WeightSettings
from models.native.weights import Weights
from models.slim import default_draft
from models.slim.vocabulary import kept
from tests.tools.public_text.answers import spoken

SIZE = 64_000
"""Tokens that are kept: from 48,000 to 80,000 a draft promises the same to within one percent."""


def packed(bits: npt.NDArray[np.uint8]) -> bytes:
    """Return the list as the draft's maker reads it, of one bit per token: 1 if it is kept."""
    return zlib.compress(np.packbits(bits).tobytes(), 9)


def main() -> None:
    """Count, choose and write."""
    path = locate(catalog.DEFAULT.draft.name)
    with closing(Weights(path, WeightSettings(vocab_only=True))) as weights:
        vocab = weights.vocab
        tokens = [token for pair in spoken() for text in pair for token in vocab.tokenize(text)]
    counts = np.bincount(tokens, minlength=vocab.size)
    bits = np.zeros(vocab.size, np.uint8)
    bits[kept(read_vocabulary(path), counts, SIZE)] = 1
    default_draft.TOKENS.write_bytes(packed(bits))
    print(f"{bits.sum():,} tokens kept: {default_draft.TOKENS.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
