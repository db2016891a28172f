"""KV caches of conversations, saved so that these can be resumed without a full prefill."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from models.base import common_prefix_length

if TYPE_CHECKING:  # toys need no native library, and what is not stored no snapshots
    from models.files.snapshots import Snapshots
    from models.native.model import NativeModel

LONG_S = 2.0
"""Seconds of prefill from which on a conversation is saved."""
MIN_TOKENS_SAVED = 64  # tokens that need no evaluation thanks to a snapshot that is restored

_State = tuple[tuple[int, ...], memoryview]  # the tokens of a cache, and a copy of it


class PromptCache:
    """Saves a model's KV cache of stored conversations as snapshots, and restores it.

    If a snapshot is missing, damaged or of another model, the conversation is evaluated again.
    Caches of conversations that are not stored are saved in memory, if there is a budget for it.
    """

    def __init__(
        self,
        model: "NativeModel",
        identity: str,
        budget: int,
        path: Path | None = None,
        memory: int = 0,
    ) -> None:
        """`identity` is everything the cache depends on; `budget` and `memory` are in bytes."""
        self._model, self._memory = model, memory
        self._identity, self._path, self._budget = identity, path, budget
        self._snapshots: Snapshots | None = None  # None: the conversation is not saved
        self._tokens: Sequence[int] = ()  # of the conversation
        self._saved: tuple[int, ...] = ()  # tokens of the newest snapshot
        self._in_memory: list[_State] = []  # the newest first

    def prepare(self, tokens: Sequence[int], stored: bool) -> None:
        """Prepare the cache for a prompt of a conversation, which is `stored` or leaves no trace.

        The caller appends the answer's tokens to `tokens`. Afterwards the cache has a prefix of
        them and nothing else. The folder is opened again for each prompt: if it is discarded later,
        nothing of this conversation can be saved.
        """
        if self._model.cached(tokens) < len(self._model.cached_tokens) - MIN_TOKENS_SAVED:
            self.save()
        self.close()
        self._tokens = tokens
        if self._memory and not stored:
            self._exchange(tokens)
        if stored and self._budget:
            from models.files.snapshots import Snapshots, folder

            with suppress(OSError, MemoryError):
                self._snapshots = Snapshots(self._path or folder(), self._identity, self._budget)
                self._restore(self._snapshots, tokens)
        self._model.truncate(self._model.cached(tokens))

    def save(self) -> None:
        """Write a snapshot, if the tokens that no snapshot has yet take long to evaluate."""
        self._model.truncate(self._model.cached(self._tokens))  # without rejected proposals
        cached, snapshots = self._model.cached_tokens, self._snapshots
        seconds = self._model.seconds_per_token
        new = len(cached) - common_prefix_length(self._saved, cached)
        is_long = new >= MIN_TOKENS_SAVED if seconds is None else new * seconds >= LONG_S
        if snapshots is None or not is_long:
            return
        with suppress(OSError, MemoryError):
            snapshots.write(cached, self._model.state())
        self._saved = cached

    def close(self) -> None:
        """Save nothing more of this conversation."""
        if self._snapshots is not None:
            self._snapshots.close()
            self._snapshots = None

    def _exchange(self, tokens: Sequence[int]) -> None:
        """Save in memory the state that a prompt replaces, and restore an earlier one for it."""
        cached, reusable = self._model.cached_tokens, self._model.cached(tokens)
        best = max(self._in_memory, key=lambda copy: self._reusable(copy[0], tokens), default=None)
        if len(cached) >= reusable + MIN_TOKENS_SAVED:  # a copy takes far less time than evaluating
            with suppress(MemoryError):
                self._in_memory.insert(0, (cached, self._model.state()))
        if best and self._reusable(best[0], tokens) >= reusable + MIN_TOKENS_SAVED:
            self._in_memory = [state for state in self._in_memory if state is not best]
            self._model.restore(*best)
        while sum(len(state) for _, state in self._in_memory) > self._memory:
            self._in_memory.pop()

    def _reusable(self, snapshot: Sequence[int], tokens: Sequence[int]) -> int:
        """Return how many tokens of a prompt need no evaluation if a snapshot is restored."""
        rolls_back = self._model.rollback is None and not self._model.restores_in_part
        common = common_prefix_length(snapshot, tokens)
        continues = common == len(snapshot) < len(tokens)
        fits = len(snapshot) <= self._model.n_ctx
        return common if fits and (continues or rolls_back) else 0

    def _restore(self, snapshots: "Snapshots", tokens: Sequence[int]) -> None:
        """Restore the snapshot with the longest usable prefix of a prompt, if it spares enough."""
        usable = ((self._reusable(known.tokens, tokens), known.name) for known in snapshots.find())
        reusable, name = max(usable, default=(0, ""))
        if reusable < self._model.cached(tokens) + MIN_TOKENS_SAVED:
            return
        try:
            cached, state = snapshots.read(name)
        except ValueError:
            snapshots.remove(name)
        else:
            if self._model.restore(cached, state):
                self._saved = tuple(cached)
