"""Map a draft's vocabulary to its target's: ids differ, and some tokens are missing.

Timor et al. 2025, "Accelerating LLM Inference with Lossless Speculative Decoding Algorithms for
Heterogeneous Vocabularies", algorithm 4: tokens are the same whose bytes are the same, and what the
target lacks is never proposed.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from models.base import Ids
from models.errors import ModelError
from models.gguf import FileVocabulary
from models.gguf.vocabulary import BYTE, mismatch

MIN_COVERAGE = 0.7  # the share of a text's tokens that a draft must have to be useful
SAMPLE = Path(__file__).with_name("coverage_sample.txt").read_bytes()
"""Code and prose, of which a draft must have the tokens."""


class SharedTokens(NamedTuple):
    """The tokens that two vocabularies share, and what a draft reads instead of the others."""

    targets: Ids  # the target's ids, ascending
    drafts: Ids  # the draft's ids of the same tokens, none of them twice
    n_target: int  # how many tokens the target has
    spell: Callable[[int], tuple[int, ...]] | None = None
    """What the draft reads instead of a target's token; None if only padding is missing."""


def shared_tokens(target: FileVocabulary, draft: FileVocabulary) -> SharedTokens:
    """Return what is shared by number where vocabularies agree, padding aside, else by bytes.

    Raises:
        ModelError: the draft lacks too many of the target's tokens.
    """
    difference = mismatch(target, draft)
    if difference is None:
        ids = np.arange(min(target.size, draft.size))
        return SharedTokens(ids, ids, target.size)
    ours, theirs = Spelling(target), Spelling(draft)
    pairs = {token: theirs.numbers.get(text) for text, token in ours.numbers.items()}
    pairs |= {token: theirs.controls.get(text) for text, token in ours.controls.items()}
    shared = {target: draft for target, draft in sorted(pairs.items()) if draft is not None}
    tokens = list(ours.spell(SAMPLE))
    covered = sum(token in shared for token in tokens) / max(1, len(tokens))
    if covered < MIN_COVERAGE:
        raise ModelError(
            f"a different vocabulary: {difference}, and it has only {covered:.0%} of the tokens of "
            f"ordinary text; {MIN_COVERAGE:.0%} is needed"
        )
    return SharedTokens(
        np.fromiter(shared.keys(), np.intp),
        np.fromiter(shared.values(), np.intp),
        target.size,
        lambda token: tuple(theirs.spell(target.piece(token))),
    )


class Spelling:
    """The tokens of a vocabulary by their bytes; for bytes that several have, the first of them.

    Text is spelt with the longest token at each position, without the tokenizer's rules.
    """

    def __init__(self, vocabulary: FileVocabulary) -> None:
        self.numbers: dict[bytes, int] = {}
        self.controls: dict[bytes, int] = {}
        bytes_: dict[bytes, int] = {}  # which SentencePiece has besides the characters
        for token in range(vocabulary.size):
            if vocabulary.is_unused(token):
                continue
            tokens = self.numbers if vocabulary.has_text(token) else self.controls
            tokens = bytes_ if vocabulary.kind(token) == BYTE else tokens
            tokens.setdefault(vocabulary.piece(token), token)
        self.numbers = bytes_ | self.numbers
        self._longest = max(map(len, self.numbers), default=0)

    def spell(self, text: bytes) -> Iterator[int]:
        """Yield tokens that make up `text`; a byte that no token has is left out."""
        start = 0
        while start < len(text):
            ends = range(min(len(text), start + self._longest), start, -1)
            end = next((end for end in ends if text[start:end] in self.numbers), None)
            if end is not None:
                yield self.numbers[text[start:end]]
            start = end or start + 1
