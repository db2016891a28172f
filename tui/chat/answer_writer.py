"""An answer being decoded: what it has so far, and where that is shown and saved."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from assistant.events import Decoded, Finished, Stop
from assistant.tokens import Step, Trace

if TYPE_CHECKING:  # they import SQLite and Textual
    from assistant.store import Record, State, Store
    from tui.chat.conversation.answer import Answer

WHOLE = (Stop.STOP_TOKEN, Stop.STOP_STRING)


class AnswerWriter:
    """Collect an answer, show it, and save what there is in the store.

    Args:
        record: its record in the store, where the rest is added.
        view: shows it; None where nobody looks at it as it comes.
        before: how it was decoded so far, when an answer is continued.
    """

    def __init__(self, record: Record, view: Answer | None = None, before: Trace = ()) -> None:
        self.record, self.view = record, view
        # An answer cut within a character continues with that character.
        self._begun = "".join(step.text for step in before) or record.content
        self._thought = "".join(step.thought for step in before) or record.thought
        self._ids, self._before = record.token_ids, before
        self._steps: list[Step] = []
        self._kept = 0  # steps that the store has
        self._storing = Lock()  # what is saved meanwhile must not follow the end
        self.is_over = False

    @property
    def text(self) -> str:
        """Return the text so far."""
        return self._begun + "".join(step.text for step in self._steps)

    @property
    def thought(self) -> str:
        """Return what was thought before it so far."""
        return self._thought + "".join(step.thought for step in self._steps)

    @property
    def trace(self) -> Trace:
        """Return how it was decoded."""
        return (*self._before, *self._steps)

    def add(self, event: Decoded) -> None:
        """Take a round."""
        step = Step(event.tokens, event.ghosts)
        self._steps.append(step)
        if self.view is not None:
            self.view.add(step)
            self.view.tell(event.stats)

    def move_to(self, view: Answer) -> None:
        """Stream on in another widget, which shows nothing of the answer yet."""
        self.view = view
        for step in self.trace:
            view.add(step)

    def keep(self, store: Store) -> None:
        """Save what came since the last time; may be called on any thread.

        Raises:
            StorageError: it cannot be written.
        """
        with self._storing:
            if not self.is_over and len(self._steps) > self._kept:
                self._kept = len(self._steps)
                store.answers.stream(self.record.id, self.text, self.trace, self.thought)

    def is_nothing(self, event: Finished) -> bool:
        """Say whether it was stopped before its first word."""
        said = self.text or event.text or self.thought or event.thought or event.calls
        return event.stop is Stop.CANCELLED and not said

    def finish(self, store: Store, event: Finished) -> Record:
        """Save the whole of it, with the figures of what it had before as well.

        Raises:
            StorageError: it cannot be written.
        """
        # Ids that do not cover all of the text would make the next prompt lack a part of it.
        whole = bool(event.token_ids) and (bool(self._ids) or not self._begun + self._thought)
        ids = (*self._ids, *event.token_ids) if whole else ()
        state: State = "complete" if event.stop in WHOLE else "stopped"
        before, text = self.record.stats, self._begun + event.text
        stats = before.plus(event.stats) if before else event.stats
        end = ids, self.trace, stats, str(event.stop), state, self._thought + event.thought
        with self._storing:
            self.is_over = True
            return store.answers.end(self.record.id, text, *end, event.calls)

    def abandon(self, store: Store, state: State) -> Record:
        """Save what there is of an answer that did not finish.

        Raises:
            StorageError: it cannot be written.
        """
        with self._storing:
            self.is_over = True
            end = (), self.trace, None, None, state, self.thought
            return store.answers.end(self.record.id, self.text, *end)

    def close(self, store: Store, state: State) -> None:
        """Save what there is if it did not finish; nothing of one that never began.

        Raises:
            StorageError: it cannot be written.
        """
        if (self.text or self.thought) and not self.is_over:
            self.abandon(store, state)
        elif not self.is_over:
            store.drop(self.record.id)
