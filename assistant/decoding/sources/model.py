"""A small model as a draft source, and the mapping of its vocabulary to the target's."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from assistant.decoding.model import DraftFailed, Logits, Model
from assistant.decoding.row import Ids, Row
from assistant.decoding.sources.draft import Rows, Source
from assistant.decoding.warp import Warp


class VocabularyMapping:
    """Translates between a draft's tokens and its target's: ids differ, and some are missing.

    Timor et al. 2025, "Accelerating LLM Inference with Lossless Speculative Decoding Algorithms for
    Heterogeneous Vocabularies", algorithm 4: tokens that the target lacks are never proposed. The
    row that a token is drawn from, with its ids translated, is the row that is verified, so the
    output keeps the target's law whatever the two vocabularies are.

    A warp gets the `shared` logits of a draft: one for each token in both vocabularies, in the
    order of the target's ids. `to_target` translates the ids of its row.
    """

    def __init__(
        self,
        shared: Mapping[int, int],  # the draft's ids of these tokens, by the target's, ascending
        n_target: int,  # the size of the target's vocabulary
        # Returns what the draft reads for a token that it lacks; None if it lacks only padding.
        spell: Callable[[int], tuple[int, ...]] | None = None,
    ) -> None:
        self.size = len(shared)
        targets, drafts = (np.fromiter(ids, np.intp) for ids in (shared.keys(), shared.values()))
        in_order = np.array_equal(drafts, np.arange(self.size))
        self._draft_ids: slice | Ids = slice(self.size) if in_order else drafts  # a slice is a view
        self._target_ids, self._spell = targets, spell
        self._is_identity = in_order and np.array_equal(targets, drafts)
        self._is_total = self._is_identity and self.size == n_target
        self._spellings: dict[int, tuple[int, ...]] = {
            target: (draft,) for target, draft in shared.items()
        }
        self._indices = np.full(n_target, self.size)  # tokens that are not shared come last
        self._indices[targets] = np.arange(self.size)

    @classmethod
    def identity(cls, n_target: int, n_draft: int) -> "VocabularyMapping":
        """Return the mapping of two vocabularies of these sizes that agree, padding aside."""
        return cls({token: token for token in range(min(n_target, n_draft))}, n_target)

    def to_draft(self, tokens: Sequence[int]) -> list[int]:
        """Return what the draft reads for `tokens` of the target; there may be more of them."""
        if self._is_total:
            return list(tokens)
        return list(chain.from_iterable(map(self._spelling_of, tokens)))

    def shared(self, logits: Logits) -> Logits:
        """Return the logits of the tokens in both vocabularies."""
        return logits[self._draft_ids]

    def indices(self, tokens: Sequence[int]) -> Sequence[int]:
        """Return the indices of target tokens among the shared ones; `size` if absent."""
        if self._is_identity:
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
        return indices if self._is_identity else self._target_ids[indices]

    def _spelling_of(self, token: int) -> tuple[int, ...]:
        if token not in self._spellings:
            # Every token must map to something, or there might be nothing to evaluate.
            self._spellings[token] = (self._spell(token) if self._spell else ()) or (0,)
        return self._spellings[token]


MODEL = "model"  # the name of the source that computes
WINDOW = 512  # how many of the last tokens of a long text are evaluated
LENGTHS = (16, 32, 64, 128, 256)  # shorter windows, for when the budget allows no more


class PrefillOption(NamedTuple):
    """A prefill after which a draft model can continue a text."""

    context: int  # how many of the last tokens its cache will hold
    pending: int  # how many tokens have to be evaluated for that
    chunk: int | None = None  # how many of them to evaluate at once; None: all


def restart_options(longest: int) -> list[PrefillOption]:
    """Return the ways to restart a prefill, from the shortest window to `longest` tokens."""
    lengths = [*(length for length in LENGTHS if length < longest), longest]
    return [PrefillOption(length, length) for length in lengths]


class ModelSource(Source):
    """Propose by autoregressive sampling from `model`, warped like the target.

    Of a text that is new to it, the model evaluates only the last tokens, at most `window`. That
    costs only acceptance, and its time does not grow with the text's length.

    `mapping` is to the target's vocabulary. Tokens that only one of them has are never proposed;
    the draft reads others instead, which costs only acceptance. `failures` are the errors of a
    model that cannot continue.
    """

    name = MODEL

    def __init__(
        self,
        model: Model,
        mapping: VocabularyMapping,
        window: int = WINDOW,
        failures: tuple[type[Exception], ...] = (),
    ) -> None:
        self.model = model
        self._mapping, self._failures = mapping, failures
        self._window = min(window, model.n_ctx // 2)
        self._start = 0  # the window's first token

    def read(self, tokens: Sequence[int]) -> None:
        """Choose the window; its tokens are evaluated with the next row, in one batch."""
        seen = self.window_tokens(tokens)
        cached = self.model.cached(seen)
        is_full = len(seen) >= self.model.n_ctx - 32  # where a long draft would not fit
        if not cached or is_full or len(seen) - cached > self._window:
            self._start = max(0, len(tokens) - self._window)
            seen = self.window_tokens(tokens)
        self.model.committed = len(seen)

    def prefill_options(self, tokens: Sequence[int]) -> list[PrefillOption]:
        """Return the ways to continue `tokens`: in the same window, or in a later one."""
        same_window = PrefillOption(len(tokens) - self._start, self.pending(tokens))
        return [same_window, *restart_options(min(len(tokens), self._window))]

    def restart(self, tokens: Sequence[int], context: int) -> None:
        """Set the window to the last `context` of `tokens`."""
        self._start = max(0, len(tokens) - context)

    def indices(self, ids: Ids) -> Ids:
        """Return the indices of the target's tokens among those that both models have."""
        return self._mapping.indices_of_shared(ids)

    def window_tokens(self, tokens: Sequence[int]) -> list[int]:
        """Return the window of `tokens` as tokens of the draft; there may be more of them."""
        return self._mapping.to_draft(tokens[self._start :])

    def pending(self, tokens: Sequence[int]) -> int:
        """Return how many tokens the draft has to evaluate before it can continue `tokens`."""
        seen = self.window_tokens(tokens)
        return len(seen) - self.model.cached(seen)

    def offer(self, tokens: Sequence[int], budget: int) -> Rows | None:
        """Offer a row, unless the draft's context is full."""
        seen = self.window_tokens(tokens)
        if len(seen) >= self.model.n_ctx:
            return None
        return Rows(self.name, max(1, len(seen) - self.model.cached(seen)))

    def row(self, tokens: Sequence[int], warp: Warp) -> tuple[Row, int]:
        """Return the warped row and its margin's bucket; DraftFailed if the model cannot go on."""
        try:
            logits = self.model.logits(self.window_tokens(tokens))
        except self._failures as error:
            raise DraftFailed(str(error)) from error
        row = warp(self._mapping.shared(logits[0]), self._mapping.indices(tokens))
        return Row(self._mapping.to_target(row.ids), row.probs, row.margin), row.margin or 0
