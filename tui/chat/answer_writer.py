"""An answer on its way to the store."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from assistant.events import Decoded, Finished, Stop
from assistant.tokens import Step

if TYPE_CHECKING:  # it brings SQLite along
    from assistant.store import Record, State, Store

EVERY_S = 1.0
"""How often an answer is saved that is under way."""
_WHOLE = (Stop.STOP_TOKEN, Stop.STOP_STRING)


class AnswerWriter:
    """Keep what an answer says; without a record, nothing."""

    def __init__(self, store: Store, record: Record | None) -> None:
        self._store, self._record = store, record
        self._steps: list[Step] = []
        self._saved = monotonic()

    def add(self, event: Decoded) -> None:
        """Take a round, and save what there is now and then."""
        self._steps.append(Step(event.tokens, event.ghosts))
        if self._record is not None and monotonic() - self._saved > EVERY_S:
            self._saved = monotonic()
            self._store.stream(self._record.id, self._text, tuple(self._steps))

    def finish(self, event: Finished) -> None:
        """Save the whole answer."""
        if event.stop is Stop.CANCELLED and not event.text:
            return  # `close` drops it
        state: State = "complete" if event.stop in _WHOLE else "stopped"
        self._end(event.text, state, event)

    def close(self, state: State = "failed") -> None:
        """Save what there is of an answer that came to no end; nothing of one that never began."""
        if self._record is not None and self._text:
            self._end(self._text, state, None)
        elif self._record is not None:
            self._store.drop(self._record.id)

    @property
    def _text(self) -> str:
        return "".join(step.text for step in self._steps)

    def _end(self, text: str, state: State, event: Finished | None) -> None:
        record, self._record = self._record, None
        if record is not None:
            ids, stats = (event.token_ids, event.stats) if event else ((), None)
            stop = str(event.stop) if event else None
            self._store.end(record.id, text, ids, tuple(self._steps), stats, stop, state)
