"""Tokens of a draft as tokens of its target: ids differ, and some are missing.

Timor et al. 2025, "Accelerating LLM Inference with Lossless Speculative Decoding Algorithms for
Heterogeneous Vocabularies", algorithm 4: tokens are the same whose bytes are the same, and what the
target lacks is never proposed. The row that is drawn from, renamed, is the row that is verified, so
the output keeps the target's law whatever the two vocabularies are.
"""

from collections.abc import Callable, Container, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from models.base import Ids, Logits
from models.errors import ModelError
from models.gguf import FileVocabulary
from models.gguf.vocabulary import BYTE, mismatch

MIN_COVERAGE = 0.7  # the share of a text's tokens that a draft must have to be useful
SAMPLE = Path(__file__).with_name("coverage_sample.txt").read_bytes()
"""Code and prose, of which a draft must have the tokens."""


class Mapping:
    """Says which draft token is which target token.

    A warp sees the `shared` logits of a draft: one for each token in both vocabularies, in the
    order of the target's ids. `named` gives the ids in its row the target's numbers.

    Args:
        targets: ids of the target, ascending.
        drafts: the draft's ids of the same tokens, none of them twice.
        n_target: how many tokens the target has.
        spell: what the draft reads instead of a target token that it lacks; None if only padding is
            missing.
    """

    def __init__(
        self,
        targets: Ids,
        drafts: Ids,
        n_target: int,
        spell: Callable[[int], tuple[int, ...]] | None = None,
    ) -> None:
        self.size = len(targets)
        in_order = np.array_equal(drafts, np.arange(self.size))
        self._drafts: slice | Ids = slice(self.size) if in_order else drafts  # a slice is a view
        self._targets, self._spell = targets, spell
        self._same = in_order and np.array_equal(targets, drafts)
        self._complete = self._same and self.size == n_target
        alike = zip(targets.tolist(), zip(drafts.tolist(), strict=True), strict=True)
        self._readings: dict[int, tuple[int, ...]] = dict(alike)
        self._places = np.full(n_target, self.size)  # unshared tokens come last
        self._places[targets] = np.arange(self.size)

    def known(self, tokens: Sequence[int]) -> list[int]:
        """Return what the draft reads for `tokens` of the target; there may be more of them."""
        if self._complete:
            return list(tokens)
        return list(chain.from_iterable(map(self._reading, tokens)))

    def shared(self, logits: Logits) -> Logits:
        """Return the logits of the tokens in both vocabularies."""
        return logits[self._drafts]

    def places(self, tokens: Sequence[int]) -> Sequence[int]:
        """Return the positions of target tokens among the shared ones; `size` if absent."""
        if self._same:
            return tokens
        places: list[int] = self._places[np.asarray(tokens, np.intp)].tolist()
        return places

    def placed(self, ids: Ids) -> Ids:
        """Return where ids of the target stand among the shared ones, without those that do not."""
        places = self._places[ids]
        found: Ids = places[places < self.size]
        return found

    def named(self, places: Ids) -> Ids:
        """Return the target's ids at positions among the shared tokens, in the same order."""
        return places if self._same else self._targets[places]

    def _reading(self, token: int) -> tuple[int, ...]:
        if token not in self._readings:
            # Every token must map to something, or there might be nothing to read.
            self._readings[token] = (self._spell(token) if self._spell else ()) or (0,)
        return self._readings[token]


def by_number(target: int, draft: int) -> Mapping:
    """Return the mapping of two vocabularies of these sizes that agree, padding aside."""
    ids = np.arange(min(target, draft))
    return Mapping(ids, ids, target)


def shared_tokens(target: FileVocabulary, draft: FileVocabulary) -> Mapping:
    """Return the mapping by number where vocabularies agree, padding aside, else by bytes.

    Raises:
        ModelError: the draft lacks too many of the target's tokens.
    """
    difference = mismatch(target, draft)
    if difference is None:
        return by_number(target.size, draft.size)
    ours, theirs = Spelling(target), Spelling(draft)
    pairs = {token: theirs.numbers.get(text) for text, token in ours.numbers.items()}
    pairs |= {token: theirs.controls.get(text) for text, token in ours.controls.items()}
    shared = {target: draft for target, draft in sorted(pairs.items()) if draft is not None}
    covered = coverage(ours, shared.keys())
    if covered < MIN_COVERAGE:
        raise ModelError(
            f"a different vocabulary: {difference}, and it has only {covered:.0%} of the tokens of "
            f"ordinary text; {MIN_COVERAGE:.0%} is needed"
        )
    return Mapping(
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


def coverage(target: Spelling, shared: Container[int]) -> float:
    """Return the share of a sample text's tokens that are among `shared`."""
    tokens = list(target.spell(SAMPLE))
    return sum(token in shared for token in tokens) / max(1, len(tokens))
