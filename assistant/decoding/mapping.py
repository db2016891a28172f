"""A draft's vocabulary and its target's: ids differ, and some tokens are missing.

Timor et al. 2025, "Accelerating LLM Inference with Lossless Speculative Decoding Algorithms for
Heterogeneous Vocabularies", algorithm 4: tokens that the target lacks are never proposed. The row
that a token is drawn from, with its ids translated, is the row that is verified, so the output
keeps the target's law whatever the two vocabularies are.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import numpy as np

from assistant.decoding.model import Logits
from assistant.decoding.row import Ids


class VocabularyMapping:
    """Translates between a draft's tokens and its target's.

    A warp gets the `shared` logits of a draft: one for each token in both vocabularies, in the
    order of the target's ids. `to_target` translates the ids of its row.

    Args:
        shared: the draft's ids of the tokens in both vocabularies, by the target's, ascending.
        n_target: the size of the target's vocabulary.
        spell: returns what the draft reads instead of a target token that it lacks; None if only
            padding is missing.
    """

    def __init__(
        self,
        shared: Mapping[int, int],
        n_target: int,
        spell: Callable[[int], tuple[int, ...]] | None = None,
    ) -> None:
        self.size = len(shared)
        targets, drafts = (np.fromiter(ids, np.intp) for ids in (shared.keys(), shared.values()))
        in_order = np.array_equal(drafts, np.arange(self.size))
        self._drafts: slice | Ids = slice(self.size) if in_order else drafts  # a slice is a view
        self._targets, self._spell = targets, spell
        self._same = in_order and np.array_equal(targets, drafts)
        self._complete = self._same and self.size == n_target
        self._spellings: dict[int, tuple[int, ...]] = {
            target: (draft,) for target, draft in shared.items()
        }
        self._indices = np.full(n_target, self.size)  # tokens that are not shared come last
        self._indices[targets] = np.arange(self.size)

    @classmethod
    def by_number(cls, target: int, draft: int) -> "VocabularyMapping":
        """Return the mapping of two vocabularies of these sizes that agree, padding aside."""
        return cls({token: token for token in range(min(target, draft))}, target)

    def to_draft(self, tokens: Sequence[int]) -> list[int]:
        """Return what the draft reads for `tokens` of the target; there may be more of them."""
        if self._complete:
            return list(tokens)
        return list(chain.from_iterable(map(self._spelling, tokens)))

    def shared(self, logits: Logits) -> Logits:
        """Return the logits of the tokens in both vocabularies."""
        return logits[self._drafts]

    def indices(self, tokens: Sequence[int]) -> Sequence[int]:
        """Return the indices of target tokens among the shared ones; `size` if absent."""
        if self._same:
            return tokens
        indices: list[int] = self._indices[np.asarray(tokens, np.intp)].tolist()
        return indices

    def indices_of_shared(self, ids: Ids) -> Ids:
        """Return the indices of the target's `ids` among the shared tokens, without absent ones."""
        indices = self._indices[ids]
        present: Ids = indices[indices < self.size]
        return present

    def to_target(self, indices: Ids) -> Ids:
        """Return the target's ids of shared tokens, given their indices, in the same order."""
        return indices if self._same else self._targets[indices]

    def _spelling(self, token: int) -> tuple[int, ...]:
        if token not in self._spellings:
            # Every token must map to something, or there might be nothing to evaluate.
            self._spellings[token] = (self._spell(token) if self._spell else ()) or (0,)
        return self._spellings[token]
