"""What single keys do to the conversation under the cursor."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from textual.widget import Widget

from models.errors import SpecchatError
from tui.chat.list.chat_rows import Shelf
from tui.chat.list.store_changes import Changes, News
from tui.chat.list.title_field import ChatField, Purpose
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.store import Store

Action = Literal["rename", "pin", "delete", "undo", "export"]
HINTS: dict[Purpose, str] = {
    "rename": "Enter renames · Esc cancels",
    "export": "Enter exports into this folder",
}


class ChatActions:
    """Rename, pin, delete and export; the list hears of every change as `News`."""

    def __init__(
        self, chats: Widget, shelf: Shelf, say: Callable[[str], None], folder: Path
    ) -> None:
        self.field = ChatField()
        """Where titles and folders are typed."""
        self._chats, self._shelf, self._say = chats, shelf, say
        self._folder = folder
        self._changes: Changes | None = None

    def use(self, store: "Store | None") -> None:
        """Change the conversations of another store; of this one, deleted ones can come back."""
        self._changes = Changes(store) if store is not None else None

    def offers(self, action: Action) -> bool:
        """Return whether there is something to do for the key."""
        if action == "undo":
            return self._changes is not None and bool(self._changes.deleted)
        return self._shelf.chosen is not None

    def do(self, action: Action) -> None:
        """Change the conversation, or ask for the text that this needs."""
        changes, chosen = self._changes, self._shelf.chosen
        if changes is None:
            return
        if action == "undo":
            self._run(changes.undo())
        elif chosen is None:
            return
        elif action == "pin":
            self._run(changes.pin(chosen.id, not chosen.pinned))
        elif action == "delete":
            self._run(changes.delete(chosen.id))
        else:
            self._say(HINTS[action])
            text = chosen.title if action == "rename" else str(self._folder)
            y = self._shelf.region.y - self._chats.region.y + self._shelf.top(self._shelf.cursor)
            self.field.ask(action, chosen, text, y)

    def take(self, answer: ChatField.Answered) -> None:
        """Do what a text was asked for."""
        if self._changes is None:
            return
        id_, title = answer.summary.id, answer.summary.title
        if answer.purpose == "rename":
            self._run(self._changes.rename(id_, answer.text))
        else:
            self._folder = (self._folder / Path(answer.text).expanduser()).absolute()
            self._run(self._changes.export(id_, title, self._folder))

    def _run(self, change: Awaitable[News]) -> None:
        self._chats.run_worker(self._change(change), group="chat-changes")

    async def _change(self, change: Awaitable[News]) -> None:
        try:
            news = await change
        except SpecchatError as error:
            complain(self._chats, error)
            return
        if news.text:
            self._chats.notify(safe(news.text), markup=False)
        self._chats.post_message(news)


def complain(chats: Widget, error: SpecchatError) -> None:
    """Say what went wrong."""
    chats.notify(safe(str(error)), severity="error", markup=False)
