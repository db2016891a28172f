"""Unsent text: in every conversation, and as a change of an earlier question."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from models.errors import StorageError

if TYPE_CHECKING:
    from assistant.store import Record, Store
    from assistant.talk.talk import Talk
    from tui.chat.prompt.prompt import Prompt

HEADING = "Enter asks it again, on a new branch · Esc cancels"


class PromptPlace(NamedTuple):
    """What the prompt's text is for: a new conversation, one that is kept, or a message of it."""

    conversation: int | None = None
    message: int | None = None


class UnsentText:
    """Put away what is in the prompt when the user goes elsewhere, and bring it back later."""

    def __init__(self, prompt: Prompt, talk: Talk) -> None:
        self._prompt, self._talk = prompt, talk
        self._place = PromptPlace()
        self._store: Store | None = None  # that of the places
        self._states: dict[PromptPlace, str] = {}  # of other places, as they were left
        self._kept: dict[PromptPlace, str] = {}  # what the store has

    def begin(self) -> None:
        """Restore what was unsent when the app ended; text typed since follows it."""
        self._place = PromptPlace(self._talk.path.conversation)
        self._prompt.restore(self._left_in(self._place))

    def go(self, message: int | None = None) -> None:
        """Continue in the conversation on the screen, or replacing one of its messages."""
        place = PromptPlace(self._talk.path.conversation, message)
        if place != self._place:
            state = self._left_in(place)
            self._states[self._place] = self._prompt.state()
            self._place = place
            self._prompt.drop()
            self._prompt.restore(state)

    def sent(self) -> None:
        """Continue in the conversation that is shown; what has been typed since comes along."""
        self._states[self._place] = ""
        self.begin()

    def forget(self, message: int) -> None:
        """Keep nothing of what was to take the place of a message."""
        self._states[PromptPlace(self._talk.path.conversation, message)] = ""

    def keep(self) -> None:
        """Save what has changed; may be called on any thread.

        Raises:
            StorageError: it cannot be written.
        """
        from assistant.store import unsent

        store = self._talk.path.store
        states = self._states | {self._place: self._prompt.state()}
        for place, state in states.items():
            if store is not None and state != self._kept.get(place, ""):
                store.remember(unsent(*place), state)
                self._kept[place] = state

    def _left_in(self, place: PromptPlace) -> str:
        """Return what was left in a place; what cannot be read stays where it is."""
        from assistant.store import unsent

        store = self._talk.path.store
        if self._store is not store:  # its conversations have other numbers
            self._store = store
            self._states.clear()
            self._kept.clear()
        if place not in self._states:
            self._states[place] = self._kept[place] = ""
            with suppress(StorageError):
                left = store.recall(unsent(*place)) if store is not None else None
                self._states[place] = self._kept[place] = left or ""
        return self._states[place]


class QuestionEditing:
    """Change one earlier question at a time; a change that is left is there when one comes back."""

    def __init__(self, prompt: Prompt, talk: Talk, unsent: UnsentText) -> None:
        self._prompt, self._talk, self._unsent = prompt, talk, unsent
        self._original = ""  # what was in the prompt before anything was changed
        self.question: Record | None = None
        """What the prompt's text is to replace."""

    def begin(self, question: Record) -> None:
        """Put a question into the prompt, or what had become of it when it was last left."""
        self.leave()
        self._unsent.go(question.id)
        if not self._prompt.state():
            self._prompt.give_back(question.content, question.attachments)
            self._original = self._prompt.state()
        self.question = question
        self._prompt.head(HEADING)
        self._prompt.focus()
        self._prompt.refresh_bindings()

    def leave(self) -> None:
        """Leave the question as it was; nothing that was typed is lost."""
        question, self.question = self.question, None
        if question is None:
            return
        original, self._original = self._original, ""
        changed = self._prompt.state() not in ("", original)
        self._unsent.go()
        if changed:
            hint = "Your change is kept; e on that message continues it."
            self._prompt.notify(hint, timeout=5, markup=False)
        else:
            self._unsent.forget(question.id)
        self._end()

    def sent(self) -> Record | None:
        """End the change because it was sent; return what it replaces, if that is still shown."""
        question, self.question, self._original = self.question, None, ""
        self._end()
        # It may have been deleted, or another branch chosen, since it was put into the prompt.
        return question if question and self._talk.path.shows(question) else None

    def _end(self) -> None:
        self._prompt.head("")
        self._prompt.refresh_bindings()
