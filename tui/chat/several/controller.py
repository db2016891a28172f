"""Several answers to one question at once: kept as they come, and one of them chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assistant.events import Answered, Event, Failed, Finished, ModelInfo, OneOf
from models.errors import StorageError
from tui.chat.answer_writer import AnswerWriter
from tui.chat.chat_controller import ChatController
from tui.chat.conversation_state import ConversationState
from tui.chat.dialogue import Dialogue
from tui.chat.layout import ChatLayout

if TYPE_CHECKING:
    from assistant.store import Record, State
    from tui.chat.several.screen import SeveralScreen


class SeveralAnswers:
    """Have the prompt, or else the last question, answered several times over.

    The answers are siblings in the conversation from the start, so none is lost whatever happens.
    """

    def __init__(
        self,
        parts: ChatLayout,
        state: ConversationState,
        dialogue: Dialogue,
        controller: ChatController,
    ) -> None:
        self._parts, self._state = parts, state
        self._dialogue, self._controller = dialogue, controller
        self._shown: SeveralScreen | None = None
        self._records: list[Record] = []
        self._writers: list[AnswerWriter] = []
        self._chosen = 0

    def begin(self) -> None:
        """Ask; or say why that cannot be."""
        target, prompt, leaf = self._controller.idle_target(), self._parts.prompt, self._state.leaf
        if target is None:
            return
        if prompt.text.strip() or prompt.attachments:
            self._controller.keep(prompt.text, prompt.attachments)
        elif leaf is None:
            text = f"Type a question first; it gets {self._state.settings.answers} answers."
            self._parts.notify(text, timeout=4, markup=False)
            return
        elif leaf.role == "assistant":
            self._state.cut_before(leaf)
        self._open(target)

    def keep(self) -> None:
        """Save the answers so far; may be called on any thread.

        Raises:
            StorageError: it cannot be written.
        """
        for writer in self._writers:
            writer.keep(self._state.store)

    def leave(self) -> None:
        """Save the answers so far: the program ends."""
        self._close("stopped")

    def _open(self, model: ModelInfo) -> None:
        from tui.chat.several.screen import SeveralScreen

        count, question = self._state.settings.answers, self._state.records[-1].content
        self._records, request = self._dialogue.several(model, self._controller.mode, count)
        self._writers = [AnswerWriter(record) for record in self._records]
        self._shown, self._chosen = SeveralScreen(question, count), 0
        self._parts.app.push_screen(self._shown, self._choose)
        self._controller.ask(request, self._take)

    def _take(self, event: Event | None) -> None:
        """Keep and show what the engine says."""
        match event:
            case OneOf() | Answered():
                if self._shown is not None:
                    self._shown.take(event)
                if isinstance(event, Answered):
                    self._end("stopped")
                elif self._writers:
                    self._write(event)
            case Failed():
                self._end("failed")
                if self._shown is not None:
                    self._shown.dismiss(0)
                self._state.view.note(event.message, "error")
            case _:
                self._controller.show(event)

    def _write(self, event: OneOf) -> None:
        writer, told = self._writers[event.answer], event.event
        if not isinstance(told, Finished):
            writer.add(told)
        elif not writer.is_nothing(told):  # else `_close` drops it
            try:
                writer.finish(self._state.store, told)
            except StorageError as error:
                self._state.lost(error)

    def _choose(self, number: int | None) -> None:
        """Continue with an answer, once all have ended."""
        self._shown, self._chosen = None, number or 0
        if self._writers:
            self._controller.cancel()
        else:
            self._show()

    def _end(self, state: State) -> None:
        self._close(state)
        if self._shown is None:
            self._show()
        self._parts.status.show(activity=None)

    def _close(self, state: State) -> None:
        """Save what there is of answers that did not finish; nothing of one that never began."""
        writers, self._writers = self._writers, []
        for writer in writers:
            try:
                writer.close(self._state.store, state)
            except StorageError as error:
                self._state.lost(error)

    def _show(self) -> None:
        """Show the conversation with the answer that was chosen; if that is empty, as it is."""
        state = self._state
        try:
            if state.conversation is not None:
                chosen = self._records[self._chosen].id
                if chosen in {record.id for record in state.store.tree(state.conversation)}:
                    state.store.choose(chosen)
            state.open(state.conversation)
        except StorageError as error:
            state.lost(error)
        self._controller.follow()
        self._parts.prompt.focus()
