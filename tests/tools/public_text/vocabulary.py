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
from models.base import Ids
from models.files.locate import identify
from models.gguf import FileVocabulary, read_vocabulary
from models.native.weights import Weights
from models.slim import slim_draft
from models.slim.writing import most_frequent
from tests.tools.public_text.answers import spoken

SIZE = 64_000
"""Tokens that are kept: from 48,000 to 80,000 a draft promises the same to within one percent."""


PRIOR, PRIOR_FROM = 100_000, 1000
"""A token counts PRIOR / (its id + PRIOR_FROM) times more: in 300,000, about as often as found."""


def kept(vocabulary: FileVocabulary, counts: npt.NDArray[np.int64], size: int) -> Ids:
    """Return the ids of about `size` tokens to keep, ascending: the most used ones.

    Counts are combined with a prior: vocabularies are built in order of frequency, which falls by
    Zipf's law. Without it, some megabytes of text keep words that just happen to occur.
    """
    needed, used = most_frequent(vocabulary, 0), most_frequent(vocabulary, vocabulary.size)
    score = counts + PRIOR / (np.arange(vocabulary.size) + PRIOR_FROM)
    score[needed] = np.inf
    ids = used[np.argsort(-score[used], kind="stable")]
    return np.sort(ids[: max(size, len(needed))])


def packed(bits: npt.NDArray[np.uint8]) -> bytes:
    """Return the list as the draft's maker reads it, of one bit per token: 1 if it is kept."""
    return zlib.compress(np.packbits(bits).tobytes(), 9)


def main() -> None:
    """Count, choose and write."""
    path = identify(catalog.DEFAULT.draft.name).path
    with closing(Weights(path)) as weights:
        vocab = weights.vocab
        tokens = [token for pair in spoken() for text in pair for token in vocab.tokenize(text)]
    counts = np.bincount(tokens, minlength=vocab.size)
    bits = np.zeros(vocab.size, np.uint8)
    bits[kept(read_vocabulary(path), counts, SIZE)] = 1
    slim_draft.DEFAULT_TOKENS.write_bytes(packed(bits))
    print(f"{bits.sum():,} tokens kept: {slim_draft.DEFAULT_TOKENS.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
