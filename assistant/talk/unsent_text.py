"""Text that was typed and not sent: every conversation has its own, and every question too."""

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

from assistant.store.values import unsent
from assistant.talk.shown_path import ShownPath
from models.errors import StorageError

if TYPE_CHECKING:
    from assistant.store import Store


class Typed(Protocol):
    """Where the user types. What is there is told as a text, its state; empty when it is empty."""

    def state(self) -> str:
        """Return what is there."""
        ...

    def drop(self) -> None:
        """Drop what is there."""
        ...

    def restore(self, state: str) -> None:
        """Put a state before what is there."""
        ...


class PromptPlace(NamedTuple):
    """What the prompt's text is for: a new conversation, one that is kept, or a message of it."""

    conversation: int | None = None
    message: int | None = None


class UnsentText:
    """Put away what is in the prompt when the user goes elsewhere, and bring it back later."""

    def __init__(self, prompt: Typed, path: ShownPath) -> None:
        self._prompt, self._path = prompt, path
        self._place = PromptPlace()
        self._store: Store | None = None  # that of the places
        self._states: dict[PromptPlace, str] = {}  # of other places, as they were left
        self._kept: dict[PromptPlace, str] = {}  # what the store has

    def begin(self) -> None:
        """Restore what was unsent when the app ended; text typed since follows it."""
        self._place = PromptPlace(self._path.conversation)
        self._prompt.restore(self._left_in(self._place))

    def go(self, message: int | None = None) -> None:
        """Continue in the conversation on the screen, or replacing one of its messages."""
        place = PromptPlace(self._path.conversation, message)
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
        self._states[PromptPlace(self._path.conversation, message)] = ""

    def keep(self) -> None:
        """Save what has changed; may be called on any thread.

        Raises:
            StorageError: it cannot be written.
        """
        store = self._path.store
        states = self._states | {self._place: self._prompt.state()}
        for place, state in states.items():
            if store is not None and state != self._kept.get(place, ""):
                store.remember(unsent(*place), state)
                self._kept[place] = state

    def _left_in(self, place: PromptPlace) -> str:
        """Return what was left in a place; what cannot be read stays where it is."""
        store = self._path.store
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
