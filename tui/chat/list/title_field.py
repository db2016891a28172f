"""A line to type into, laid over the conversation that it is about."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

if TYPE_CHECKING:
    from assistant.store import ChatSummary

Purpose = Literal["rename", "export"]


class ChatField(Input):
    """Ask for one text about one conversation; leaving it changes nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Cancel", id="chats.cancel", tooltip="Leave the field"),
    ]
    DEFAULT_CSS = """
    ChatField { display: none; position: absolute; layer: above; width: 100%; }
    """

    @dataclass
    class Answered(Message):
        """The text was typed."""

        purpose: Purpose
        summary: "ChatSummary"
        text: str

    class Left(Message):
        """The question is over."""

    def __init__(self) -> None:
        super().__init__(id="chats-field", compact=True)
        self._about: tuple[Purpose, ChatSummary] | None = None

    def ask(self, purpose: Purpose, summary: "ChatSummary", text: str, y: int) -> None:
        """Ask in row `y`, with a text to begin from."""
        self._about = (purpose, summary)
        self.value, self.cursor_position = text, len(text)
        self.styles.offset = (0, y)
        self.display = True
        self.focus()

    async def action_submit(self) -> None:
        """Pass the text on."""
        if self._about is not None:
            self.post_message(self.Answered(*self._about, self.value.strip()))
        self.action_leave()

    def action_leave(self) -> None:
        """Close the field."""
        if self._about is not None:
            self._about, self.display = None, False
            self.post_message(self.Left())

    def on_blur(self) -> None:
        """Close the field when the user does something else."""
        self.action_leave()
