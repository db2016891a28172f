"""The conversation: turns, answers and notes, the newest at the bottom."""

from typing import Literal

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from tui.widgets.answer import Answer
from tui.widgets.turns import Note, UserTurn, Welcome


class Conversation(VerticalScroll):
    """Stay at the bottom while text arrives, unless the person has scrolled up to read."""

    can_focus = False  # the prompt keeps the keys; it passes on those that scroll

    def __init__(self) -> None:
        super().__init__(id="conversation")

    def on_mount(self) -> None:
        """Follow what is added."""
        self.anchor()

    def compose(self) -> ComposeResult:
        """Begin with a word on what this is."""
        yield Welcome()

    def ask(self, text: str) -> UserTurn:
        """Add what the person said, and go there."""
        self.query(Welcome).remove()
        turn = UserTurn(text)
        self.mount(turn)
        self.anchor()
        return turn

    def begin(self) -> Answer:
        """Add an empty answer."""
        answer = Answer()
        self.mount(answer)
        return answer

    def note(
        self,
        text: str,
        kind: Literal["info", "warning", "error"] = "info",
        before: Answer | None = None,
    ) -> None:
        """Add a sentence of the app's own."""
        self.mount(Note(text, kind), before=before)

    def clear(self) -> None:
        """Take everything away."""
        self.remove_children()
        self.mount(Welcome())
        self.anchor()
