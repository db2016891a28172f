"""What is done to a conversation of the list: the news of it, the texts for it, the export."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

from models.errors import StorageError

if TYPE_CHECKING:
    from assistant.store.store import Store
    from assistant.store.values import ChatSummary

Purpose = Literal["rename", "export"]
HINTS: dict[Purpose, str] = {
    "rename": "Enter renames · Esc cancels",
    "export": "Enter exports into this folder",
}


@dataclass
class Deleted(Message):
    """A conversation was deleted; it can be brought back."""

    id: int


@dataclass
class Restored(Message):
    """A deleted conversation is back."""

    id: int


class ChatField(Input):
    """Ask for one text about one conversation, over its row; leaving it changes nothing."""

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


def export(store: "Store", summary: "ChatSummary", folder: Path) -> Path:
    """Write a new file that is named after the title; none is ever overwritten.

    Raises:
        StorageError: it cannot be written, or the conversation cannot be read.
    """
    from assistant.store.exports import markdown  # on a thread, after the first paint

    text = markdown(store.whole(summary.id))
    words = "".join(letter if letter.isalnum() else " " for letter in summary.title).split()
    stem, number = "-".join(words)[:60].lower() or "conversation", 1
    while True:
        path = folder / (f"{stem}.md" if number == 1 else f"{stem}-{number}.md")
        try:
            with path.open("x", encoding="utf-8", errors="replace") as file:
                file.write(text)
            return path
        except FileExistsError:
            number += 1
        except OSError as error:
            reason = error.strerror or str(error)
            raise StorageError(
                f"Cannot write into {folder}: {reason}. Choose another name."
            ) from error
