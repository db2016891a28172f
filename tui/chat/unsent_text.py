"""What is being written: in every conversation, and in the place of every message."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from models.errors import StorageError

if TYPE_CHECKING:
    from assistant.store import Store
    from tui.chat.dialogue import Dialogue
    from tui.chat.prompt.prompt import Prompt


class PromptPlace(NamedTuple):
    """What the prompt's text is for: a new conversation, one that is kept, or a message of it."""

    conversation: int | None = None
    message: int | None = None


class UnsentText:
    """Put away what is in the prompt when the person goes elsewhere, and bring it back later."""

    def __init__(self, prompt: Prompt, dialogue: Dialogue) -> None:
        self._prompt, self._dialogue = prompt, dialogue
        self._place = PromptPlace()
        self._store: Store | None = None  # that of the places
        self._states: dict[PromptPlace, str] = {}  # of other places, as they were left
        self._kept: dict[PromptPlace, str] = {}  # what the store has

    def begin(self) -> None:
        """Go on with what was left when the app ended; what has been typed already follows it."""
        self._place = PromptPlace(self._dialogue.conversation)
        self._prompt.restore(self._state(self._place))

    def go(self, message: int | None = None) -> None:
        """Go on in the conversation that is shown, or in the place of a message of it."""
        place = PromptPlace(self._dialogue.conversation, message)
        if place != self._place:
            state = self._state(place)
            self._states[self._place] = self._prompt.state()
            self._place = place
            self._prompt.drop()
            self._prompt.restore(state)

    def sent(self) -> None:
        """Go on in the conversation that is shown; what has been typed since comes along."""
        self._states[self._place] = ""
        self.begin()

    def forget(self, message: int) -> None:
        """Keep nothing of what was to take the place of a message."""
        self._states[PromptPlace(self._dialogue.conversation, message)] = ""

    def keep(self) -> None:
        """Save what has changed; may be called on any thread.

        Raises:
            StorageError: it cannot be written.
        """
        from assistant.store import unsent

        states = self._states | {self._place: self._prompt.state()}
        for place, state in states.items():
            if state != self._kept.get(place, ""):
                self._dialogue.store.remember(unsent(*place), state)
                self._kept[place] = state

    def _state(self, place: PromptPlace) -> str:
        """Return what was left in a place; what cannot be read stays where it is."""
        from assistant.store import unsent

        if self._store is not self._dialogue.store:  # whose conversations have other numbers
            self._store = self._dialogue.store
            self._states.clear()
            self._kept.clear()
        if place not in self._states:
            self._states[place] = self._kept[place] = ""
            with suppress(StorageError):
                self._states[place] = self._kept[place] = self._store.recall(unsent(*place)) or ""
        return self._states[place]
