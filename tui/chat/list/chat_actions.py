"""What single keys do to the conversation under the cursor."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from models.errors import SpecchatError, StorageError
from tui.chat.list.chat_rows import ChatRows
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.store.store import Store
    from assistant.store.values import ChatSummary

Purpose = Literal["rename", "export"]
Action = Literal["rename", "pin", "delete", "undo", "export"]
HINTS: dict[Purpose, str] = {
    "rename": "Enter renames · Esc cancels",
    "export": "Enter exports into this folder",
}


@dataclass
class ChatChanged(Message):
    """Conversation `id` has changed; `text` says how, if the user should know."""

    id: int
    text: str = ""


class Deleted(ChatChanged):
    """A conversation was deleted; it can be brought back."""


class Restored(ChatChanged):
    """A deleted conversation is back."""


class ChatActions:
    """Rename, pin, delete and export, on a thread; the list hears of every change."""

    def __init__(
        self, chats: Widget, rows: ChatRows, say: Callable[[str], None], folder: Path
    ) -> None:
        self.field = ChatField()
        """Where titles and folders are typed."""
        self._chats, self._rows, self._say = chats, rows, say
        self._folder = folder
        self._store: Store | None = None
        self._deleted: list[int] = []  # those of this store, which come back in reverse order

    def use(self, store: "Store | None") -> None:
        """Change the conversations of another store; of this one, deleted ones can come back."""
        self._store, self._deleted = store, []

    def offers(self, action: Action) -> bool:
        """Return whether there is something to do for the key."""
        return bool(self._deleted) if action == "undo" else self._rows.chosen is not None

    def do(self, action: Action) -> None:
        """Change the conversation, or ask for the text that this needs."""
        store, chosen = self._store, self._rows.chosen
        match action:
            case "undo" if store and self._deleted:
                id_ = self._deleted.pop()
                self._run(partial(store.undelete, id_), Restored(id_, "It is back."))
            case "pin" if store and chosen:
                self._run(partial(store.pin, chosen.id, not chosen.pinned), ChatChanged(chosen.id))
            case "delete" if store and chosen:
                deleted = Deleted(chosen.id, "Deleted. u brings it back.")
                self._run(partial(store.delete, chosen.id), deleted)
            case "rename" | "export" if store and chosen:
                self._say(HINTS[action])
                text = chosen.title if action == "rename" else str(self._folder)
                y = self._rows.region.y - self._chats.region.y + self._rows.top(self._rows.cursor)
                self.field.ask(action, chosen, text, y)

    def take(self, answer: "ChatField.Answered") -> None:
        """Do what a text was asked for."""
        store, chosen = self._store, answer.summary
        if store is None:
            return
        if answer.purpose == "rename":
            self._run(partial(store.rename, chosen.id, answer.text), ChatChanged(chosen.id))
        else:
            self._folder = (self._folder / Path(answer.text).expanduser()).absolute()
            export = partial(_export, store, chosen, self._folder)
            self._run(export, ChatChanged(chosen.id, "Written to {}."))

    def _run(self, change: Callable[[], object], news: ChatChanged) -> None:
        self._chats.run_worker(self._change(change, news), group="chat-changes")

    async def _change(self, change: Callable[[], object], news: ChatChanged) -> None:
        try:
            result = await asyncio.to_thread(change)
        except SpecchatError as error:
            complain(self._chats, error)
            if isinstance(news, Restored):
                self._deleted.append(news.id)
            return
        if isinstance(news, Deleted):
            self._deleted.append(news.id)
        if news.text:
            self._chats.notify(safe(news.text.format(result)), markup=False)
        self._chats.post_message(news)


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


def complain(chats: Widget, error: SpecchatError) -> None:
    """Say what went wrong."""
    chats.notify(safe(str(error)), severity="error", markup=False)


def _export(store: "Store", summary: "ChatSummary", folder: Path) -> Path:
    """Write a new file that is named after the title; none is ever overwritten."""
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
