"""What is on disk of a chat: the conversations, and where the person left."""

from contextlib import suppress
from typing import TYPE_CHECKING

from models.errors import StorageError
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.store import Store
    from tui.screens.chat import ChatScreen

OPEN, UNFINISHED = "open", "unfinished"


class Keeping:
    """Keep a chat screen's dialogue and its prompt, so that nothing is lost when the app ends."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._told = ""  # what was in the prompt when that was last kept
        self._lost = False
        self.begun = False
        """Whether conversations are kept, in a file or not."""

    def begin(self, store: "Store") -> None:
        """Keep everything in `store` from now on, and go on with what was open in it."""
        dialogue, prompt = self._screen.dialogue, self._screen.prompt
        try:
            prompt.history = list(store.prompts())
            if unfinished := store.recall(UNFINISHED):
                prompt.restore(unfinished)
            left = store.recall(OPEN)
            dialogue.move_to(store)
            if dialogue.conversation is None and left:
                dialogue.open(int(left))
        except StorageError as error:
            self.lose(error)
        if store.notice:
            self._screen.notify(safe(store.notice), timeout=15, markup=False)
        self.begun = True
        self._screen.follow()

    def keep(self) -> None:
        """Save the answer under way and the unfinished prompt; may be called on any thread."""
        dialogue = self._screen.dialogue
        try:
            dialogue.keep()
            if (state := self._screen.prompt.state()) != self._told:
                self._told = state
                dialogue.store.remember(UNFINISHED, state)
        except StorageError as error:
            self._screen.app.call_from_thread(self.lose, error)

    def leave(self) -> None:
        """Save what the next start goes on with."""
        dialogue = self._screen.dialogue
        dialogue.leave()
        with suppress(StorageError):
            current = dialogue.conversation
            dialogue.store.remember(OPEN, "" if current is None else str(current))
            dialogue.store.remember(UNFINISHED, self._screen.prompt.state())

    def close(self) -> None:
        """Remove what was deleted for good, which may take a while, and close the store."""
        store = self._screen.dialogue.store
        with suppress(StorageError):  # said at the next start, when it is tried again
            store.purge()
        store.close()

    def lose(self, error: StorageError) -> None:
        """Say, once, that nothing is kept any more."""
        if not self._lost:
            self._lost = True
            self._screen.banner.warn("not saved")
            text = f"{error} The conversation goes on, but is not kept; copy what you need."
            self._screen.notify(safe(text), severity="error", timeout=30, markup=False)
