"""Sources that the papers compare with: token frequencies, and uniform guessing.

Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding", section 4, tries
unigram and bigram models as drafts. These learn from the conversation.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from assistant.decoding.row import Row, everything
from assistant.decoding.sources.draft import Rows, Source
from assistant.decoding.warp import Warp


class FrequencySource:
    """Propose by how often each token followed the last `context` tokens in the conversation.

    A bigram model has a context of one token, a unigram model has none.

    Logarithms of counts are logits like any other: they are warped as the target's are.
    """

    def __init__(self, name: str, context: int, n_vocab: int) -> None:
        self.name = name
        self._context = context
        self._n_vocab = n_vocab
        self._forget()

    def _forget(self) -> None:
        self._known: list[int] = []
        self._followers: defaultdict[tuple[int, ...], Counter[int]] = defaultdict(Counter)

    def read(self, tokens: Sequence[int]) -> None:
        """Count what is new; another text is counted from its start."""
        if list(tokens[: len(self._known)]) != self._known:
            self._forget()
        for index in range(max(len(self._known), self._context), len(tokens)):
            self._followers[self._before(tokens, index)][tokens[index]] += 1
        self._known = list(tokens)

    def offer(self, tokens: Sequence[int], limit: int) -> Rows | None:
        """Offer a row if anything ever followed what is last."""
        return Rows(self.name) if self._before(tokens, len(tokens)) in self._followers else None

    def row(self, tokens: Sequence[int], warp: Warp) -> tuple[Row, int]:
        """Return the warped row, and how many bits the count of all that followed has, up to 9."""
        counts = self._followers[self._before(tokens, len(tokens))]
        logits = np.full(self._n_vocab, -np.inf, np.float32)
        logits[list(counts)] = np.log(list(counts.values()))
        return warp(logits, tokens), min(counts.total().bit_length(), 9)

    def _before(self, tokens: Sequence[int], index: int) -> tuple[int, ...]:
        return tuple(tokens[max(0, index - self._context) : index])


class RandomSource:
    """Propose any token of the vocabulary, all equally likely."""

    name = "random"

    def __init__(self, n_vocab: int) -> None:
        self._row = Row(everything(n_vocab), np.full(n_vocab, 1 / n_vocab))

    def read(self, tokens: Sequence[int]) -> None:
        """Do nothing: there is nothing to learn."""

    def offer(self, tokens: Sequence[int], limit: int) -> Rows | None:
        """Offer a row, always."""
        return Rows(self.name)

    def row(self, tokens: Sequence[int], warp: Warp) -> tuple[Row, int]:
        """Return the uniform row, whatever the sampling is."""
        return self._row, 0


def baselines(n_vocab: int) -> dict[str, Source]:
    """Return the sources of the papers by name, for a vocabulary of that size."""
    tables = [FrequencySource("bigram", 1, n_vocab), FrequencySource("unigram", 0, n_vocab)]
    sources: list[Source] = [*tables, RandomSource(n_vocab)]
    return {source.name: source for source in sources}
