"""Several answers to one question at once: kept as they come, and one of them chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assistant.events import Answered, Event, Failed, Finished, ModelInfo, OneOf
from assistant.request import Mode
from models.errors import StorageError
from tui.chat.answer_writer import AnswerWriter

if TYPE_CHECKING:
    from assistant.store import Record, State
    from tui.chat.screen import ChatScreen
    from tui.chat.several.screen import SeveralScreen


class SeveralAnswers:
    """Have the prompt, or else the last question, answered several times over.

    The answers are siblings in the conversation from the start, so none is lost whatever happens.
    """

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._shown: SeveralScreen | None = None
        self._records: list[Record] = []
        self._kept: list[AnswerWriter] = []
        self._chosen = 0

    @property
    def busy(self) -> bool:
        """Whether answers are under way."""
        return bool(self._kept)

    def begin(self) -> None:
        """Ask; or say why that cannot be."""
        screen, dialogue = self._screen, self._screen.dialogue
        ready, prompt = screen.talk.ready, screen.prompt
        if ready is None or screen.talk.busy or screen.talk.waits:
            what = "An answer is under way; Esc stops it" if ready else "No models are loaded yet"
            screen.notify(f"{what}.", timeout=4, markup=False)
            return
        if prompt.text.strip() or prompt.attachments:
            dialogue.ask(prompt.text, prompt.attachments, screen.editing.sent())
            screen.chats.current = dialogue.conversation
            prompt.take()
            screen.unfinished.sent()
        elif dialogue.leaf is None:
            text = f"Type a question first; it gets {screen.settings.answers} answers at once."
            screen.notify(text, timeout=4, markup=False)
            return
        elif dialogue.leaf.role == "assistant":
            dialogue.cut_before(dialogue.leaf)
        self._open(ready.target, screen.mode)

    def leave(self) -> None:
        """Keep what there is: the program ends."""
        self._close("stopped")

    def _take(self, event: Event | None) -> None:
        """Keep and show what the engine says."""
        match event:
            case OneOf() | Answered():
                self._told(event)
            case Failed():
                self._failed(event)
            case _:
                self._screen.talk.show(event)

    def _told(self, event: OneOf | Answered) -> None:
        if self._shown is not None:
            self._shown.take(event)
        if isinstance(event, Answered):
            self._end("stopped")
        elif self._kept:
            self._keep(event)

    def _failed(self, event: Failed) -> None:
        """Keep what there is of all answers."""
        self._end("failed")
        if self._shown is not None:
            self._shown.dismiss(0)
        self._screen.conversation.note(event.message, "error")

    def _open(self, model: ModelInfo, mode: Mode) -> None:
        from tui.chat.several.screen import SeveralScreen

        dialogue, count = self._screen.dialogue, self._screen.settings.answers
        question = dialogue.records[-1].content
        self._records, request = dialogue.several(model, mode, count)
        self._kept = [AnswerWriter(dialogue.store, record) for record in self._records]
        self._shown, self._chosen = SeveralScreen(question, count), 0
        self._screen.app.push_screen(self._shown, self._choose)
        self._screen.talk.ask(request, self._take)

    def _keep(self, event: OneOf) -> None:
        kept = self._kept[event.answer]
        try:
            if isinstance(event.event, Finished):
                kept.finish(event.event)
            else:
                kept.add(event.event)
        except StorageError as error:
            self._screen.keeping.lose(error)

    def _choose(self, number: int | None) -> None:
        """Go on with an answer, once all have come to their end."""
        self._shown, self._chosen = None, number or 0
        if self.busy:
            self._screen.talk.cancel()
        else:
            self._show()

    def _end(self, state: State) -> None:
        self._close(state)
        if self._shown is None:
            self._show()
        self._screen.status.show(activity=None)

    def _close(self, state: State) -> None:
        kept, self._kept = self._kept, []
        for each in kept:
            try:
                each.close(state)
            except StorageError as error:
                self._screen.keeping.lose(error)

    def _show(self) -> None:
        """Show the conversation with the answer that was chosen; if that is empty, as it is."""
        dialogue = self._screen.dialogue
        try:
            if dialogue.conversation is not None:
                chosen = self._records[self._chosen].id
                if chosen in {record.id for record in dialogue.store.tree(dialogue.conversation)}:
                    dialogue.store.choose(chosen)
            dialogue.open(dialogue.conversation)
        except StorageError as error:
            self._screen.keeping.lose(error)
        self._screen.follow()
        self._screen.prompt.focus()
