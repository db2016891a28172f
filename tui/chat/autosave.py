"""What is on disk of a chat: the conversations, and where the person left."""

from contextlib import suppress
from typing import TYPE_CHECKING

from models.errors import StorageError
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.store import Store
    from tui.chat.screen import ChatScreen

OPEN, EDITED = "open", "edited"
"""Names of notes: the conversation on the screen, and the question that was being changed."""


class Autosave:
    """Keep a chat screen's dialogue and its prompt, so that nothing is lost when the app ends."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._told: dict[str, str] = {}  # where the person was when that was last kept
        self._lost = False
        self.begun = False
        """Whether conversations are kept, in a file or not."""

    def begin(self, store: "Store") -> None:
        """Keep everything in `store` from now on, and go on where the person left."""
        dialogue, prompt = self._screen.dialogue, self._screen.prompt
        try:
            prompt.history = list(store.prompts())
            left, edited = store.recall(OPEN), store.recall(EDITED)
            dialogue.move_to(store)
            if dialogue.conversation is None and left:
                with suppress(StorageError):  # it has been deleted for good
                    dialogue.open(int(left))
        except StorageError as error:
            self.lose(error)
        if store.notice:
            self._screen.notify(safe(store.notice), timeout=15, markup=False)
        typed = bool(prompt.text)
        self._screen.unfinished.begin()
        self._screen.follow()
        self.begun = True  # from here on, threads use the store that the dialogue has by now
        self._screen.learn()
        question = next((record for record in dialogue.records if str(record.id) == edited), None)
        if question is not None and not typed:
            self._screen.editing.begin(question)

    def keep(self) -> None:
        """Save the answer under way and what is unfinished; may be called on any thread."""
        if not self.begun:
            return
        try:
            self._screen.dialogue.keep()
            self._note()
        except StorageError as error:
            self._screen.app.call_from_thread(self.lose, error)

    def leave(self) -> None:
        """Save what the next start goes on with."""
        self._screen.dialogue.leave()
        self._screen.several.leave()
        if self.begun:
            with suppress(StorageError):
                self._note()

    def _note(self) -> None:
        """Save where the person is, and what is being written."""
        self._screen.unfinished.keep()
        store, question = self._screen.dialogue.store, self._screen.editing.question
        numbers = {
            OPEN: self._screen.dialogue.conversation,
            EDITED: question.id if question else None,
        }
        for key, number in numbers.items():
            text = "" if number is None else str(number)
            if text != self._told.get(key):
                store.remember(key, text)
                self._told[key] = text

    def learn(self, model: str) -> None:
        """Learn what a model's stored answers say again and again, if that is wanted.

        Called on a thread, once all has begun: it may take a while. What was learned before is
        forgotten when it is not wanted any more.
        """
        from assistant.decoding.sources import ngram_store

        try:
            if self._screen.settings.learn:
                ngram_store.refresh(self._screen.dialogue.store, model)
            else:
                ngram_store.clear()
        except StorageError as error:
            self._screen.notify(safe(str(error)), severity="warning", timeout=10, markup=False)

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
