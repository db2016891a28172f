"""What a chat keeps on disk: the conversations, and where the user left off."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from models.errors import StorageError
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.store import Store
    from tui.chat.conversation_state import ConversationState
    from tui.chat.dialogue import Dialogue
    from tui.chat.prompt.prompt import Prompt
    from tui.chat.several.controller import SeveralAnswers
    from tui.chat.tools.controller import ToolCalls
    from tui.chat.unsent_text import QuestionEditing, UnsentText

OPEN, EDITED, EXPLAINED = "open", "edited", "explained"
"""Names of notes: the conversation on the screen, the question that was being changed, and whether
the colours were explained.
"""


class Autosave:
    """Keep what is said and what is in the prompt, so that nothing is lost when the app ends.

    Args:
        follow: shows that another conversation is on the screen.
    """

    def __init__(
        self,
        state: ConversationState,
        dialogue: Dialogue,
        prompt: Prompt,
        unsent: UnsentText,
        editing: QuestionEditing,
        several: SeveralAnswers,
        tools: ToolCalls,
        follow: Callable[[], None],
    ) -> None:
        self._state, self._dialogue, self._prompt = state, dialogue, prompt
        self._unsent, self._editing = unsent, editing
        self._several, self._tools, self._follow = several, tools, follow
        self._told: dict[str, str] = {}  # where the user was when that was last kept
        self.begun = False
        """Whether conversations are kept, in a file or not."""

    def begin(self, store: Store) -> None:
        """Keep everything in `store` from now on, and resume where the user left off."""
        state, prompt = self._state, self._prompt
        edited, typed = None, bool(prompt.text)
        try:
            prompt.earlier.begin(store.prompts())
            state.view.asked += len(prompt.earlier.entries)
            state.view.explained = bool(store.recall(EXPLAINED))
            left, edited = store.recall(OPEN), store.recall(EDITED)
            state.move_to(store)
            if state.conversation is None and left:
                with suppress(StorageError):  # it has been deleted for good
                    state.open(int(left))
        except StorageError as error:
            state.lost(error)
        if state.conversation is None:
            state.view.welcome()
        if store.notice:
            prompt.notify(safe(store.notice), timeout=15, markup=False)
        self._unsent.begin()
        self._follow()
        self.begun = True  # from here on, threads use the current store
        question = next((record for record in state.records if str(record.id) == edited), None)
        if question is not None and not typed:
            self._editing.begin(question)

    def keep(self) -> None:
        """Save the answers under way and what is unfinished; may be called on any thread."""
        if not self.begun:
            return
        try:
            self._state.keep()
            self._several.keep()
            self._note()
        except StorageError as error:
            self._prompt.app.call_from_thread(self._state.lost, error)

    def leave(self) -> None:
        """Save what the next start continues with."""
        self._dialogue.leave()
        self._several.leave()
        self._tools.leave()
        if self.begun:
            with suppress(StorageError):
                self._note()

    def _note(self) -> None:
        """Save where the user is, and what is being written."""
        self._unsent.keep()
        question = self._editing.question
        numbers = {
            OPEN: self._state.conversation,
            EDITED: question.id if question else None,
            EXPLAINED: 1 if self._state.view.explained else None,
        }
        for key, number in numbers.items():
            text = "" if number is None else str(number)
            if text != self._told.get(key):
                self._state.store.remember(key, text)
                self._told[key] = text

    def learn(self, model: str) -> None:
        """Learn what a model's stored answers say again and again, if that is wanted.

        Called on a thread, once all has begun: it may take a while. What was learned before is
        forgotten when it is not wanted any more.
        """
        from assistant.decoding.sources import ngram_store

        try:
            store = self._state.store
            if self._state.settings.learn and store.saves:
                ngram_store.refresh(model, store.answer_tokens(model))
            elif not self._state.settings.learn:
                ngram_store.clear()
        except StorageError as error:
            self._prompt.notify(safe(str(error)), severity="warning", timeout=10, markup=False)

    def close(self) -> None:
        """Remove what was deleted for good, which may take a while, and close the store."""
        with suppress(StorageError):  # said at the next start, when it is tried again
            self._state.store.purge()
        self._state.store.close()
