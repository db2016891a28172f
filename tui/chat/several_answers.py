"""Several answers to one question at once: shown as they come, and one of them chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assistant.events import Answered, OneOf
from assistant.talk.events import Added, AnswersEnded, Changed, TalkEvent
from models.errors import StorageError
from tui.chat.chat_controller import ChatController
from tui.chat.layout import ChatLayout
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.store.values import Record
    from tui.chat.several_screen import SeveralScreen


class SeveralAnswers:
    """Have the prompt, or else the last question, answered several times over.

    The answers are siblings in the conversation from the start, so none is lost whatever happens.
    """

    def __init__(self, parts: ChatLayout, controller: ChatController) -> None:
        self._parts, self._controller = parts, controller
        self._shown: SeveralScreen | None = None
        self._records: dict[int, Record] = {}  # by their numbers in the store
        self._chosen = 0

    def begin(self) -> None:
        """Ask; or say why that cannot be."""
        from tui.chat.several_screen import SeveralScreen

        talk, prompt = self._controller.talk, self._parts.prompt
        count, leaf = self._controller.settings.answers, talk.path.leaf
        if not self._controller.is_free():
            return
        if prompt.text.strip() or prompt.attached.says:
            self._controller.keep()
        elif leaf is None:
            text = f"Type a question first; it gets {count} answers."
            self._parts.notify(text, timeout=4, markup=False)
            return
        elif leaf.role == "assistant":
            talk.path.cut_before(leaf)
        self._records, self._chosen = {}, 0
        self._controller.view.show_beside = self._take  # until one is chosen
        self._shown = SeveralScreen(talk.path.records[-1].content, count)
        self._parts.app.push_screen(self._shown, self._choose)
        talk.several(count)

    def _take(self, event: TalkEvent) -> None:
        """Show what the talk says about an answer that is not in the conversation yet."""
        shown = self._shown
        match event:
            case Added(record) | Changed(record):
                self._records[record.id] = record
            case OneOf(number, of_one) if shown is not None:
                shown.columns[number].take(of_one)
            case Answered() if shown is not None:
                shown.end(event)
            case AnswersEnded():
                if shown is None:
                    self._show()
                elif not shown.over:  # they failed
                    shown.dismiss(0)

    def _choose(self, number: int | None) -> None:
        """Continue with an answer, once all have ended."""
        self._shown, self._chosen = None, number or 0
        if self._records and not self._controller.talk.answers.under_way:
            self._show()
            return
        if not self._records:  # nor will there be any
            self._controller.view.show_beside = None
        self._controller.stop()

    def _show(self) -> None:
        """Show the conversation with the answer that was chosen; if that is empty, as it is."""
        self._controller.view.show_beside = None
        try:
            chosen = [*self._records.values()][self._chosen]
            self._controller.talk.path.choose_answer(chosen)
        except StorageError as error:
            self._parts.notify(safe(str(error)), severity="error", timeout=10, markup=False)
        self._controller.follow()
        self._parts.prompt.focus()
