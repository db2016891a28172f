"""One answer under way: what it has so far, and where that is shown and kept."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from assistant.events import Decoded, Finished, Stop
from assistant.tokens import Step, Trace
from tui.chat.conversation.answer import Answer
from tui.figures import together

if TYPE_CHECKING:
    from assistant.store import Record, State, Store

WHOLE = (Stop.STOP_TOKEN, Stop.STOP_STRING)


class Reply:
    """Gather an answer, and keep what there is of it in the store.

    An answer that is gone on with begins with what it had: `before`.
    """

    def __init__(self, record: Record, widget: Answer, before: Trace = ()) -> None:
        self.record, self.widget = record, widget
        # An answer cut within a character goes on with that character.
        self._begun = "".join(step.text for step in before) or record.content
        self._ids, self._before = record.token_ids, before
        self._steps: list[Step] = []
        self._kept = 0  # steps that the store has
        self._storing = Lock()  # what is kept meanwhile must not come after the end
        self._over = False

    @property
    def text(self) -> str:
        """Return the text so far."""
        return self._begun + "".join(step.text for step in self._steps)

    @property
    def trace(self) -> Trace:
        """Return how it came about."""
        return (*self._before, *self._steps)

    def add(self, event: Decoded) -> None:
        """Take a round."""
        self._steps.append(Step(event.tokens, event.ghosts))
        self.widget.add(self._steps[-1])

    def move_to(self, widget: Answer) -> None:
        """Stream on in another widget, which shows nothing of the answer yet."""
        self.widget = widget
        for step in self.trace:
            widget.add(step)

    def keep(self, store: Store) -> None:
        """Save what came since the last time; may be called on any thread.

        Raises:
            StorageError: it cannot be written.
        """
        with self._storing:
            if not self._over and len(self._steps) > self._kept:
                self._kept = len(self._steps)
                store.stream(self.record.id, self.text, self.trace)

    def whole(self, event: Finished) -> Finished:
        """Return the end with the figures of all of the answer, also of what it had before."""
        stats = together(self.record.stats, event.stats)
        return Finished(event.text, event.token_ids, event.stop, stats)

    def finish(self, store: Store, event: Finished) -> Record:
        """Save the whole of it; return what is kept.

        Raises:
            StorageError: it cannot be written.
        """
        # Ids that do not cover all of the text would make the next prompt lack a part of it.
        whole = bool(event.token_ids) and (bool(self._ids) or not self._begun)
        ids = (*self._ids, *event.token_ids) if whole else ()
        state: State = "complete" if event.stop in WHOLE else "stopped"
        text = self._begun + event.text
        with self._storing:
            self._over = True
            return store.end(
                self.record.id, text, ids, self.trace, event.stats, str(event.stop), state
            )

    def abandon(self, store: Store, state: State) -> Record:
        """Save what there is of an answer that came to no end.

        Raises:
            StorageError: it cannot be written.
        """
        with self._storing:
            self._over = True
            return store.end(self.record.id, self.text, (), self.trace, None, None, state)
