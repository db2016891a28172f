"""A small model as a draft source."""

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from assistant.decoding.mapping import Mapping
from assistant.decoding.model import DraftFailed, Logits, Model
from assistant.decoding.row import Ids, Row
from assistant.decoding.sources.draft import Rows
from assistant.decoding.warp import Warp

MODEL = "model"  # the name of the source that computes
WINDOW = 512  # tokens of a long text that are read, the last ones
LENGTHS = (16, 32, 64, 128, 256)  # and fewer, where that is what the time allows


class PrefillOption(NamedTuple):
    """A way for a draft model to become able to continue a text."""

    context: int  # how many of the last tokens it will know
    unread: int  # how many tokens it has to read for that
    piece: int | None = None  # how many of them it is to read at once; None: all


def restart_options(most: int) -> list[PrefillOption]:
    """Return the ways to begin again, the shortest first; the last one reads `most` tokens."""
    return [PrefillOption(length, length) for length in (*takewhile(most.__gt__, LENGTHS), most)]


class ModelSource:
    """Propose by autoregressive sampling from `model`, warped like the target.

    It need not have read everything: of a text that is new to it, it reads the last tokens, at most
    `window`. That costs acceptance alone, and its time does not grow with the text's length.

    `mapping` is to the target's vocabulary. What only one of them has is never proposed, and read
    by the draft as something else, which costs acceptance alone. `failures` are the errors by which
    the model says that it cannot go on.
    """

    name = MODEL

    def __init__(
        self,
        model: Model,
        mapping: Mapping,
        window: int = WINDOW,
        failures: tuple[type[Exception], ...] = (),
    ) -> None:
        self.model = model
        self._mapping, self._failures = mapping, failures
        self._window = min(window, model.n_ctx // 2)
        self._start = 0  # what lies before is not read

    def read(self, tokens: Sequence[int]) -> None:
        """Choose where to begin; a model reads when it is asked for a row, in one batch."""
        seen = self.seen(tokens)
        cached = self.model.cached(seen)
        is_full = len(seen) >= self.model.n_ctx - 32
        if not cached or is_full or len(seen) - cached > self._window:
            self._start = max(0, len(tokens) - self._window)
            seen = self.seen(tokens)
        self.model.decided = len(seen)

    def prefill_options(self, tokens: Sequence[int]) -> list[PrefillOption]:
        """Return the ways to continue `tokens`: continue reading, or begin again further on."""
        on = PrefillOption(len(tokens) - self._start, self.unread(tokens))
        return [on, *restart_options(min(len(tokens), self._window))]

    def begin(self, tokens: Sequence[int], context: int) -> None:
        """Read no more than the last `context` of `tokens`."""
        self._start = max(0, len(tokens) - context)

    def placed(self, ids: Ids) -> Ids:
        """Return where tokens of the target stand among the logits that a warp is given."""
        return self._mapping.placed(ids)

    def seen(self, tokens: Sequence[int]) -> list[int]:
        """Return `tokens` as the draft sees them: tokens of its own, maybe more of them."""
        return self._mapping.known(tokens[self._start :])

    def unread(self, tokens: Sequence[int]) -> int:
        """Return how many tokens the draft has to read before it can continue `tokens`."""
        seen = self.seen(tokens)
        return len(seen) - self.model.cached(seen)

    def offer(self, tokens: Sequence[int], room: int) -> Rows | None:
        """Offer a row, as long as the draft's context has room."""
        seen = self.seen(tokens)
        if len(seen) >= self.model.n_ctx:
            return None
        return Rows(self.name, max(1, len(seen) - self.model.cached(seen)))

    def row(self, tokens: Sequence[int], warp: Warp) -> tuple[Row, int]:
        """Return the warped row, and how far the best token is ahead.

        Raises:
            DraftFailed: the model cannot continue.
        """
        logits = self._mapping.shared(self._logits(self.seen(tokens)))
        row = warp(logits, self._mapping.places(tokens))
        return Row(self._mapping.named(row.ids), row.probs, row.margin), row.margin or 0

    def _logits(self, tokens: Sequence[int]) -> Logits:
        try:
            row: Logits = self.model.logits(tokens)[0]
        except self._failures as error:
            raise DraftFailed(str(error)) from error
        return row
