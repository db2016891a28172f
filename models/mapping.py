"""Map a draft's vocabulary to its target's: ids differ, and some tokens are missing.

Timor et al. 2025, "Accelerating LLM Inference with Lossless Speculative Decoding Algorithms for
Heterogeneous Vocabularies", algorithm 4: tokens with the same bytes are the same, and tokens that
the target lacks are never proposed.

Two vocabularies of 150,000 and 49,000 tokens are compared in half a second at each load.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from models.errors import ModelError
from models.gguf import FileVocabulary
from models.gguf.vocabulary import BYTE, NO_TEXT, UNUSED, mismatch

MIN_COVERAGE = 0.7  # the share of a text's tokens that a draft must have to be useful
SAMPLE = Path(__file__).with_name("coverage_sample.txt").read_bytes()
"""Code and prose by which the coverage of a draft's vocabulary is measured."""

SharedTokens = tuple[dict[int, int], int, Callable[[int], tuple[int, ...]] | None]
"""The draft's ids of the tokens in both vocabularies, by the target's, ascending; the size of the
target's vocabulary; and what the draft reads instead of other tokens of the target, None if only
padding is missing."""


def shared_tokens(target: FileVocabulary, draft: FileVocabulary) -> SharedTokens:
    """Return the tokens that two vocabularies share: by id where they agree, else by bytes.

    A `ModelError` says that the draft lacks too many of the target's tokens.
    """
    difference = mismatch(target, draft)
    if difference is None:
        return {token: token for token in range(min(target.size, draft.size))}, target.size, None
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
    return shared, target.size, lambda token: tuple(theirs.spell(target.piece(token)))


class Spelling:
    """The tokens of a vocabulary by their bytes; of several with the same bytes, the first.

    Text is spelt with the longest token at each position, without the tokenizer's rules.
    """

    def __init__(self, vocabulary: FileVocabulary) -> None:
        self.numbers: dict[bytes, int] = {}
        self.controls: dict[bytes, int] = {}
        bytes_: dict[bytes, int] = {}  # SentencePiece has a token for each byte, too
        for token in range(vocabulary.size):
            if (kind := vocabulary.kind(token)) != UNUSED:
                tokens = self.controls if kind in NO_TEXT else self.numbers
                tokens = bytes_ if kind == BYTE else tokens
                tokens.setdefault(vocabulary.piece(token), token)
        self.numbers = bytes_ | self.numbers
        self._longest = max(map(len, self.numbers), default=0)

    def spell(self, text: bytes) -> Iterator[int]:
        """Yield tokens that make up `text`; bytes that no token has are skipped."""
        start = 0
        while start < len(text):
            ends = range(min(len(text), start + self._longest), start, -1)
            end = next((end for end in ends if text[start:end] in self.numbers), None)
            if end is not None:
                yield self.numbers[text[start:end]]
            start = end or start + 1
