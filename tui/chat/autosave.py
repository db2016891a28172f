"""What a chat keeps on disk: the conversations, and where the user left off."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from assistant.session.unsent_text import EDITED, OPEN
from models.errors import StorageError
from tui.chat.chat_models import SUGGESTED
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.events import Ready
    from assistant.store.store import Store
    from tui.chat.chat_controller import ChatController

KEEP_EVERY = 1.0
"""Seconds of an answer that may be lost when the program is killed."""
EXPLAINED = "explained"
"""The name of the note that says whether the colours were explained."""


class Autosave:
    """Keep what is said and what is in the prompt, so that nothing is lost when the app ends."""

    def __init__(self, controller: ChatController) -> None:
        self._controller, self._session = controller, controller.session
        self._parts = controller.parts
        self.begun = False
        """Whether conversations are kept, in a file or not."""
        self._explained = False  # whether that note is kept
        self._learned: Ready | None = None  # with which models that was done

    def begin(self, store: Store) -> None:
        """Keep everything in `store` from now on, and resume where the user left off."""
        session, view, prompt = self._session, self._parts.conversation, self._parts.prompt
        edited, typed = None, bool(prompt.text)
        try:
            prompt.earlier.begin(store.prompts())
            view.asked += len(prompt.earlier.entries)
            view.explained = self._explained = bool(store.recall(EXPLAINED))
            self._controller.models.may_suggest = store.saves and not store.recall(SUGGESTED)
            left, edited = store.recall(OPEN), store.recall(EDITED)
            session.save_in(store)
            if not session.branch.records and left:
                with suppress(StorageError, ValueError):  # it has been deleted for good
                    session.branch.open(int(left))
        except StorageError as error:
            self._parts.banner.not_saved(error)
        if not session.branch.records:
            view.welcome()
        if store.warning:
            prompt.notify(safe(store.warning), timeout=15, markup=False)
        self._controller.unsent.load()
        self._controller.follow()
        self.begun = True  # from here on, threads use the store
        question = next((each for each in session.branch.records if str(each.id) == edited), None)
        if question is not None and not typed:
            self._controller.change(question)

    def keep_now_and_then(self) -> None:
        """Have it saved, on a thread, while the program runs."""
        # Not a timer of the screen's: each message to one under another has all painted again.
        app = self._parts.app
        work = partial(app.run_worker, self.keep, group="keep", exclusive=True, thread=True)
        app.set_interval(KEEP_EVERY, work)

    def keep(self) -> None:
        """Save the answers under way and what is unfinished; may be called on any thread.

        Then learn from stored answers, once for each time that models are loaded.
        """
        if not self.begun:
            return
        try:
            self._session.responses.save()
            self._note()
        except StorageError as error:
            with suppress(RuntimeError):  # the program has ended meanwhile
                self._parts.app.call_from_thread(self._parts.banner.not_saved, error)
        ready = self._controller.models.ready
        if ready is not None and ready is not self._learned:
            self._learned = ready
            self.learn(ready.target.name)

    def leave(self) -> None:
        """Save what the next start continues with."""
        self._controller.leave()
        if self.begun:
            with suppress(StorageError):
                self._note()

    def _note(self) -> None:
        self._controller.unsent.save()
        explained, store = self._parts.conversation.explained, self._session.branch.store
        if store is not None and explained and not self._explained:
            store.remember(EXPLAINED, "1")
            self._explained = True

    def learn(self, model: str) -> None:
        """Learn what a model's stored answers say again and again, if that is wanted.

        It may take a while. What was learned before is forgotten when it is not wanted any more.
        """
        from assistant.engine.sources import ngram_store

        store, learns = self._session.branch.store, self._controller.settings.learn
        try:
            if store is not None and learns and store.saves:
                ngram_store.refresh(model, store.answer_tokens(model))
            elif not learns:
                ngram_store.clear()
        except StorageError as error:
            text = safe(str(error))
            self._parts.notify(text, severity="warning", timeout=10, markup=False)

    def close(self) -> None:
        """Close the store, which may take a while."""
        if (store := self._session.branch.store) is not None:
            store.close()
