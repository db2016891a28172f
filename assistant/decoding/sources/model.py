"""A small model as a draft source."""

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from assistant.decoding.mapping import VocabularyMapping
from assistant.decoding.model import DraftFailed, Logits, Model
from assistant.decoding.row import Ids, Row
from assistant.decoding.sources.draft import Rows
from assistant.decoding.warp import Warp

MODEL = "model"  # the name of the source that computes
WINDOW = 512  # how many of the last tokens of a long text are evaluated
LENGTHS = (16, 32, 64, 128, 256)  # shorter windows, for when the budget allows no more


class PrefillOption(NamedTuple):
    """A prefill after which a draft model can continue a text."""

    context: int  # how many of the last tokens its cache will hold
    pending: int  # how many tokens have to be evaluated for that
    piece: int | None = None  # how many of them to evaluate at once; None: all


def restart_options(longest: int) -> list[PrefillOption]:
    """Return the ways to restart a prefill, from the shortest window to `longest` tokens."""
    lengths = (*takewhile(longest.__gt__, LENGTHS), longest)
    return [PrefillOption(length, length) for length in lengths]


class ModelSource:
    """Propose by autoregressive sampling from `model`, warped like the target.

    Of a text that is new to it, the model evaluates only the last tokens, at most `window`. That
    costs only acceptance, and its time does not grow with the text's length.

    `mapping` is to the target's vocabulary. Tokens that only one of them has are never proposed;
    the draft reads others instead, which costs only acceptance. `failures` are the errors of a
    model that cannot go on.
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
        seen = self.seen(tokens)
        cached = self.model.cached(seen)
        is_full = len(seen) >= self.model.n_ctx - 32
        if not cached or is_full or len(seen) - cached > self._window:
            self._start = max(0, len(tokens) - self._window)
            seen = self.seen(tokens)
        self.model.committed = len(seen)

    def prefill_options(self, tokens: Sequence[int]) -> list[PrefillOption]:
        """Return the ways to continue `tokens`: in the same window, or in a later one."""
        same_window = PrefillOption(len(tokens) - self._start, self.pending(tokens))
        return [same_window, *restart_options(min(len(tokens), self._window))]

    def restart(self, tokens: Sequence[int], context: int) -> None:
        """Set the window to the last `context` of `tokens`."""
        self._start = max(0, len(tokens) - context)

    def indices(self, ids: Ids) -> Ids:
        """Return the indices of the target's tokens in the logits that a warp is given."""
        return self._mapping.indices_of_shared(ids)

    def seen(self, tokens: Sequence[int]) -> list[int]:
        """Return the window of `tokens` as tokens of the draft; there may be more of them."""
        return self._mapping.to_draft(tokens[self._start :])

    def pending(self, tokens: Sequence[int]) -> int:
        """Return how many tokens the draft has to evaluate before it can continue `tokens`."""
        seen = self.seen(tokens)
        return len(seen) - self.model.cached(seen)

    def offer(self, tokens: Sequence[int], budget: int) -> Rows | None:
        """Offer a row, unless the draft's context is full."""
        seen = self.seen(tokens)
        if len(seen) >= self.model.n_ctx:
            return None
        return Rows(self.name, max(1, len(seen) - self.model.cached(seen)))

    def row(self, tokens: Sequence[int], warp: Warp) -> tuple[Row, int]:
        """Return the warped row, and the bucket of the best token's margin.

        Raises:
            DraftFailed: the model cannot continue.
        """
        logits = self._mapping.shared(self._logits(self.seen(tokens)))
        row = warp(logits, self._mapping.indices(tokens))
        return Row(self._mapping.to_target(row.ids), row.probs, row.margin), row.margin or 0

    def _logits(self, tokens: Sequence[int]) -> Logits:
        try:
            row: Logits = self.model.logits(tokens)[0]
        except self._failures as error:
            raise DraftFailed(str(error)) from error
        return row
