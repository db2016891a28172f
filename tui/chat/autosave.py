"""Save a chat while it is used: its conversations, and the state that the next start restores."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from assistant.session.chat_session import SAVE_EVERY_S
from assistant.session.unsent_text import EDITED, OPEN
from models.errors import StorageError
from tui.chat.chat_controller import SUGGESTED, ChatController

if TYPE_CHECKING:
    from assistant.store.store import Store

FIGURES = "figures"
"""The stored key that says whether F3 is open."""


class Autosave:
    """Save the conversation and the text in the prompt every second and at the end."""

    def __init__(self, controller: ChatController) -> None:
        self._controller, self._session = controller, controller.session
        self._widgets = controller.widgets

    def start(self, store: Store) -> None:
        """Save everything in `store` from now on, and restore the state of the last session."""
        session, view, prompt = self._session, self._widgets.conversation, self._widgets.prompt
        early, prompt.queued = prompt.queued, ()  # sent until now
        has_typed, edited = bool(prompt.text), None
        session.branch.store = store
        try:
            prompt.history.load(store.prompts())
            view.question_count += len(prompt.history.entries)
            self._widgets.panel.wanted |= bool(store.recall(FIGURES))
            self._controller.may_suggest = store.saves and not store.recall(SUGGESTED)
            open_id, edited = store.recall(OPEN), store.recall(EDITED)
            if open_id and not early:
                with suppress(StorageError, ValueError):  # it has been deleted
                    session.branch.open(int(open_id))
        except StorageError as error:
            self._widgets.banner.not_saved(error)
        for unsent in early:
            self._controller.submit(unsent)
        if not session.branch.records:
            view.welcome()
        if store.warning:
            prompt.notify(store.warning, timeout=15)
        self._controller.unsent.load()
        self._controller.show_switched()
        question = next((r for r in session.branch.records if str(r.id) == edited), None)
        if question is not None and not has_typed:
            self._controller.edit_question(question)

    async def run(self) -> None:
        """Save every second while the program runs."""
        while True:
            await asyncio.sleep(SAVE_EVERY_S)
            if self._session.branch.store is not None:  # until then, no thread may be at it
                await self.save()

    def show_written_elsewhere(self, focused: bool) -> None:
        """When the terminal gets the focus, show what another program has answered meanwhile.

        A reader further up stays there, and sees it at the next focus at the end.
        """
        branch = self._session.branch
        may_move = self._session.idle and self._widgets.conversation.follows
        if focused and may_move and any(r.state == "streaming" for r in branch.records):
            with suppress(StorageError):
                branch.reopen()

    async def save(self) -> None:
        """Save the answer under way and the text in the prompt."""
        try:
            await self._session.save()
            await asyncio.to_thread(self._save_state)
        except StorageError as error:
            self._widgets.banner.not_saved(error)

    async def shutdown(self) -> None:
        """Save the state that the next start restores, show nothing more, and close the store."""
        self._controller.shutdown()
        with suppress(StorageError):
            self._save_state()
        if (store := self._session.branch.store) is not None:
            await asyncio.to_thread(store.close)

    def _save_state(self) -> None:
        self._controller.unsent.save(**{FIGURES: "1" if self._widgets.panel.wanted else ""})
