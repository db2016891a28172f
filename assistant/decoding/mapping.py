"""Tokens of a draft as tokens of its target: ids differ, and some are missing.

Timor et al. 2025, "Accelerating LLM Inference with Lossless Speculative Decoding Algorithms for
Heterogeneous Vocabularies", algorithm 4: what the target lacks is never proposed. The row that is
drawn from, renamed, is the row that is verified, so the output keeps the target's law whatever the
two vocabularies are.
"""

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np

from assistant.decoding.model import Logits
from assistant.decoding.row import Ids


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

    @classmethod
    def by_number(cls, target: int, draft: int) -> "Mapping":
        """Return the mapping of two vocabularies of these sizes that agree, padding aside."""
        ids = np.arange(min(target, draft))
        return cls(ids, ids, target)

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
