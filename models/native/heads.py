"""The prediction heads of a target as a draft: tokens and the target's states in, logits out."""

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from models.base import Logits, common_prefix
from models.errors import ContextFull
from models.native.batch import BATCH
from models.native.context import Context
from models.native.engine import ContextSettings
from models.native.model import NativeModel

WINDOW = 512
"""Tokens of a long text that heads read, the last ones."""


class HeadModel:
    """The first prediction head of a loaded target, as a model of its own.

    A head predicts the token after the next one: it reads each token together with the state that
    the target had at the token before (multi-token prediction, DeepSeek-AI 2024, section 2.2). Of
    tokens that the target has not read, it takes its own state instead, and so guesses further. As
    a draft, that decides how good guesses are, not what is said.

    Args:
        target: made with `heads`; it must outlive this, and its cancel flag stops both.

    Raises:
        ModelError: the library cannot run them.
    """

    max_rows = 1
    seconds_a_token: float | None = None
    can_roll_back = True
    rollback: int | None = None  # its one block is attention, also in a model that is recurrent

    def __init__(self, target: NativeModel) -> None:
        self.weights = target.weights
        self.n_vocab, self.n_ctx = target.n_vocab, target.n_ctx
        self.conditions = f"{target.conditions} heads"
        self.busy_s = 0.0
        self.decided = 0
        self._target = target
        target.weights.heads()  # says what is wrong before a context is made
        settings = ContextSettings(self.n_ctx, 1, target.threads, use="heads")
        self._context = Context(target.weights, settings, target.cancel)
        self._before: list[int] = []  # tokens that were not read, before those that were
        self._sound = 0  # so many positions were read with the target's states
        self._own: int | None = None  # the position whose state it has itself

    def logits(self, tokens: Sequence[int], rows: int = 1) -> Logits:
        """Return the logits that follow the last token."""
        if len(tokens) > self.n_ctx:
            raise ContextFull(f"{len(tokens)} tokens do not fit into a context of {self.n_ctx}.")
        if not 0 <= rows <= min(1, len(tokens)):
            raise ValueError(f"rows must be 0 or 1: {rows}")
        started = perf_counter()
        try:
            self._read(tokens, rows)
            return self._context.rows(rows)
        finally:
            self.busy_s += perf_counter() - started

    def cached(self, tokens: Sequence[int]) -> int:
        """Return how many leading tokens need not be read."""
        return max(self._kept(tokens), len(tokens) - WINDOW)

    def close(self) -> None:
        """Free the context; rows returned before are gone with it."""
        self._context.close()

    @property
    def held(self) -> list[int]:
        """The tokens that its cache holds."""
        return self._context.held

    def _known(self, tokens: Sequence[int]) -> range:
        """Return the positions whose states the target computed; all positions if it has none."""
        return self._target.states_of(tokens) or range(len(tokens))

    def _kept(self, tokens: Sequence[int]) -> int:
        """Return the length of `tokens` that need not be read again.

        A token that was read with the head's own state is read again once the target's is known.
        """
        before = len(self._before)
        if common_prefix(self._before, tokens) < before:
            return 0
        kept = before + common_prefix(self.held, tokens[before:])
        return min(kept, self._sound) if self._known(tokens).stop >= self._sound else kept

    def _read(self, tokens: Sequence[int], rows: int) -> None:
        """Read what the cache lacks: in batches where the target's states are known."""
        known = self._known(tokens)
        kept = min(self._kept(tokens), len(tokens) - rows)
        if kept > known.stop and kept - 1 != self._own:
            kept = known.stop
        if kept < len(self._before) or len(tokens) - kept > WINDOW:
            kept = self._begin(tokens, known)
        self._context.truncate(kept - len(self._before))
        self._sound = min(self._sound, kept)
        while kept < len(tokens):
            # A state of its own is asked of one token alone: of more, some graphs give the first's.
            end = min(kept + BATCH, len(tokens), max(known.stop, kept + 1))
            wanted = rows if end == len(tokens) else int(end > known.stop)
            states = self._states(range(kept - 1, end - 1), known)
            self._context.evaluate(tokens[kept:end], wanted, states)
            if end - 1 <= known.stop:
                self._sound = end
            self._own = end - 1 if wanted and end == kept + 1 else None
            kept = end

    def _begin(self, tokens: Sequence[int], known: range) -> int:
        """Clear the cache; return the position to begin at, not before the first known state."""
        self._context.clear()
        first = known.start + 1 if known.start else 0
        start = max(0, min(max(first, len(tokens) - WINDOW), len(tokens) - 1))
        self._before, self._sound, self._own = list(tokens[:start]), start, None
        return start

    def _states(self, positions: range, known: range) -> Logits:
        """Return a state for each position: the target's, its own, or zeros before the text."""
        if positions.stop > known.stop:  # one alone, which is the last that was read
            return self._context.newest_state
        rows = np.zeros((len(positions), self._context.state_width), np.float32)
        theirs = range(max(positions.start, 0), positions.stop)
        if theirs:
            rows[-len(theirs) :] = self._target.states_at(theirs)
        return rows
