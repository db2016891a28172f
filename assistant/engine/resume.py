"""Resume an earlier conversation without reading all of it again."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from models.base import common_prefix

if TYPE_CHECKING:  # toys need no native library, and what is not stored no snapshots
    from models.files.snapshots import FoundSnapshot, Snapshots
    from models.native.model import NativeModel

LONG_S = 2.0
"""Seconds that reading a conversation must take for a snapshot to be worth its place."""
MIN_TOKENS_KEPT = 64  # tokens that a snapshot must spare the model to be read


class Resuming:
    """Keep what a model has read of stored conversations in snapshots, and bring it back.

    A snapshot that is missing, damaged or of another model costs the time of reading, nothing else.
    """

    def __init__(
        self, model: "NativeModel", identity: str, room: int, place: Path | None = None
    ) -> None:
        """`identity` is what the cache depends on; `room` is in bytes, and 0 keeps nothing."""
        self._model = model
        self._identity, self._place, self._room = identity, place, room
        self._snapshots: Snapshots | None = None  # None: the conversation leaves nothing on disk
        self._tokens: Sequence[int] = ()  # of the conversation
        self._kept: tuple[int, ...] = ()  # what the newest snapshot holds

    def begin(self, tokens: Sequence[int], stored: bool) -> None:
        """Get the cache ready for a prompt, of a conversation that is `stored` or leaves no trace.

        The tokens of the answer are to be appended to `tokens`. Afterwards the cache holds a
        beginning of them and nothing else. The folder is opened again for each prompt: if it is
        discarded later, this conversation finds no place any more.
        """
        if self._model.cached(tokens) < len(self._model.held) - MIN_TOKENS_KEPT:
            self.keep()
        self.close()
        self._tokens = tokens
        if stored and self._room:
            from models.files.snapshots import Snapshots, folder

            with suppress(OSError, MemoryError):
                self._snapshots = Snapshots(self._place or folder(), self._identity, self._room)
                self._restore(self._snapshots, tokens)
        self._model.truncate(self._model.cached(tokens))

    def keep(self) -> None:
        """Write what the model has read, if reading what no snapshot has yet takes long."""
        self._model.truncate(self._model.cached(self._tokens))  # it may have read a draft further
        held, snapshots = self._model.held, self._snapshots
        seconds, new = self._model.seconds_a_token, len(held) - common_prefix(self._kept, held)
        is_long = new >= MIN_TOKENS_KEPT if seconds is None else new * seconds >= LONG_S
        if snapshots is None or not is_long:
            return
        with suppress(OSError, MemoryError):
            snapshots.write(held, self._model.state())
        self._kept = held

    def close(self) -> None:
        """Keep nothing any more of what the model has read."""
        if self._snapshots is not None:
            self._snapshots.close()
            self._snapshots = None

    def _restore(self, snapshots: "Snapshots", tokens: Sequence[int]) -> None:
        """Bring back the snapshot that has most in common with a prompt, if it has enough."""
        rolls_back = self._model.rollback is None and not self._model.restores_in_part

        def spared(found: "FoundSnapshot") -> int:
            common = common_prefix(found.tokens, tokens)
            goes_on = common == len(found.tokens) < len(tokens)
            fits = len(found.tokens) <= self._model.n_ctx
            return common if fits and (goes_on or rolls_back) else 0

        best = max(snapshots.find(), key=spared, default=None)
        if best is None or spared(best) < self._model.cached(tokens) + MIN_TOKENS_KEPT:
            return
        try:
            held, state = snapshots.read(best.name)
        except ValueError:
            snapshots.remove(best.name)
        else:
            if self._model.restore(held, state):
                self._kept = tuple(held)
