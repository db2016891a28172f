"""The conversation: turns, answers and notes, the newest at the bottom."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from textual.app import ComposeResult

from assistant.tokens import Trace
from tui.chat.conversation.answer import Answer
from tui.chat.conversation.older_records import OlderRecords
from tui.chat.conversation.older_turns import Pages
from tui.chat.conversation.turn import Turn
from tui.chat.conversation.user_turn import AttachedFile, Note, UserTurn, Welcome

if TYPE_CHECKING:
    from assistant.store.values import Record


class Conversation(Pages):
    """Stay at the bottom while text arrives, unless the person has scrolled up to read."""

    BLANK = True
    DEFAULT_CSS = """
    Conversation {
        layers: turns hint;
        padding: 1 2 0 2;
        scrollbar-size-vertical: 1;
        scrollbar-color: $panel-lighten-2;
        scrollbar-background: $background;
    }
    """

    def __init__(self) -> None:
        super().__init__(id="conversation")

    def on_mount(self) -> None:
        """Follow what is added."""
        self.anchor()

    def compose(self) -> ComposeResult:
        """Begin with a word on what this is."""
        yield self.hint
        yield Welcome()

    def open(self, records: "Sequence[Record]", trace: Callable[[int], Trace]) -> None:
        """Show a stored conversation: its newest turns now, older ones when scrolled to.

        What is on the screen already, from its first turn on, stays as it is.
        """
        history, older, turns = OlderRecords(records, trace), len(self.history), self.turns
        count = history.matches(turns, self.history)
        new = history.take(older + count) if count else history.take()
        if count:
            history.take(older)
        self._empty(history, turns[:count])
        self.mount_all([self.turn_of(record) for record in new])
        if not count and not new:
            self.mount(Welcome())
        self.anchor()
        self.call_after_refresh(self.fill)

    def last_answer(self) -> str:
        """Return the text of the newest answer; empty when there is none."""
        answers = [turn for turn in self.turns if isinstance(turn, Answer)]
        return answers[-1].text if answers else ""

    def ask(
        self,
        text: str,
        record: "Record | None" = None,
        attachments: Sequence[AttachedFile] = (),
    ) -> UserTurn:
        """Add what the person said, and go there."""
        self.query_children("Welcome").remove()
        self.shed()
        turn = UserTurn(text, record, attachments)
        self.mount(turn)
        self.anchor()
        return turn

    def begin(self, model: str = "", record: "Record | None" = None) -> Answer:
        """Add an empty answer."""
        answer = self.dressed(Answer(model, record))
        self.mount(answer)
        return answer

    def note(
        self,
        text: str,
        kind: Literal["info", "warning", "error"] = "info",
        before: Turn | None = None,
    ) -> None:
        """Add a sentence of the app's own."""
        self.mount(Note(text, kind), before=before)

    def _empty(self, history: OlderRecords, kept: Sequence[Turn]) -> None:
        self.history = history
        self.hint.display = False
        children = list(self.children)
        gone = children[children.index(kept[-1]) + 1 if kept else 0 :]
        self.remove_children([child for child in gone if child is not self.hint])
