"""Text that was typed and not sent: every conversation has its own, and every question too."""

from contextlib import suppress
from typing import Protocol

from assistant.session.active_branch import ActiveBranch
from assistant.store.values import Attachment, StoredMessage, unsent
from models.errors import StorageError

OPEN, EDITED = "open", "edited"
"""Names of notes: the conversation on the screen, and the question that was being changed."""


class _Typed(Protocol):
    """Where the user types; its state is a text, which is put before what is there."""

    def head(self, changes: bool) -> None: ...
    def state(self) -> str: ...
    def drop(self) -> None: ...
    def restore(self, state: str) -> None: ...
    def restore_input(self, text: str, attachments: tuple[Attachment, ...] = ()) -> bool: ...


class UnsentText:
    """Put away what is in the prompt when the user goes elsewhere, and bring it back later.

    In the prompt is a new question of the conversation on the screen, or a change of an earlier
    one. A change that is left is there when the user comes back to it.
    """

    def __init__(self, prompt: _Typed, branch: ActiveBranch) -> None:
        self._prompt, self._branch = prompt, branch
        self.question: StoredMessage | None = None
        """The earlier question that is being changed."""
        self._original = ""  # what was in the prompt before anything of it was changed
        self._place = unsent(None, None)
        self._states: dict[str, str] = {}  # of other places, as they were left
        self._kept: dict[str, str] = {}  # what the store has

    def begin(self) -> None:
        """Restore what was unsent when the app ended; text typed since follows it."""
        self._states.clear()  # a store's conversations have other numbers
        self._restore()

    def go(self) -> None:
        """Continue in the conversation on the screen, or with the question that is changed."""
        place = self._here
        if place != self._place:
            state = self._left_in(place)
            self._states[self._place] = self._prompt.state()
            self._place = place
            self._prompt.drop()
            self._prompt.restore(state)

    def change(self, question: StoredMessage) -> None:
        """Put a question into the prompt, or what had become of it when it was last left."""
        self.question = question
        self._prompt.head(changes=True)
        self.go()
        if not self._prompt.state():
            self._prompt.restore_input(question.content, question.attachments)
            self._original = self._prompt.state()

    def leave(self) -> bool:
        """Leave the question as it was; return whether a change of it is kept."""
        changed = self._prompt.state() not in ("", self._original)
        question, self.question, self._original = self.question, None, ""
        self._prompt.head(changes=False)
        if question is None:
            return False
        left = self._place
        self.go()
        if not changed:
            self._states[left] = ""
        return changed

    @property
    def replaced(self) -> StoredMessage | None:
        """The question that what is sent replaces."""
        # It may have been deleted, or another branch chosen, since it was put into the prompt.
        return self.question if self.question and self._branch.shows(self.question) else None

    def sent(self) -> None:
        """Continue in the conversation that is shown; what has been typed since comes along."""
        self._states[self._place] = ""
        self.question, self._original = None, ""
        self._prompt.head(changes=False)
        self._restore()

    def keep(self) -> None:
        """Save what has changed, and where the user is; may be called on any thread.

        Raises:
            StorageError: it cannot be written.
        """
        store, number = self._branch.store, self._branch.conversation
        edited = str(self.question.id) if self.question else ""
        states = self._states | {self._place: self._prompt.state()}
        states |= {OPEN: "" if number is None else str(number), EDITED: edited}
        for place, state in states.items():
            if store is not None and state != self._kept.get(place):
                store.remember(place, state)
                self._kept[place] = state

    def _restore(self) -> None:
        self._place = self._here
        self._prompt.restore(self._left_in(self._place))

    @property
    def _here(self) -> str:
        return unsent(self._branch.conversation, self.question.id if self.question else None)

    def _left_in(self, place: str) -> str:
        """Return what was left in a place; what cannot be read stays where it is."""
        store = self._branch.store
        if place not in self._states:
            self._states[place] = self._kept[place] = ""
            with suppress(StorageError):
                left = store.recall(place) if store is not None else None
                self._states[place] = self._kept[place] = left or ""
        return self._states[place]
