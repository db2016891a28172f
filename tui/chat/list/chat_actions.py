"""Single keys that change the conversation under the cursor."""

from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from models.errors import SpecchatError
from tui.chat.list.chat_rows import Shelf
from tui.chat.list.store_changes import Changes, News
from tui.chat.list.title_field import ChatField, Purpose
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.store import Store

HINTS: dict[Purpose, str] = {
    "rename": "Enter renames · Esc cancels",
    "export": "Enter exports into this folder",
}


class ChatEditing(Vertical):
    """Rename, pin, delete and export; every change is told as `News`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "rename", "Rename", id="chats.rename"),
        Binding("p", "pin", "Pin", id="chats.pin", tooltip="Pin to the top"),
        Binding("d,delete", "delete", "Delete", id="chats.delete"),
        Binding("u", "undo", "Undo", id="chats.undo"),
        Binding("x", "export", "Export", id="chats.export", tooltip="Export as Markdown"),
    ]

    def __init__(self, id: str, store: "Store | None", folder: Path) -> None:
        super().__init__(id=id)
        self._folder = folder
        self.shelf = Shelf()
        self.field = ChatField()
        self.hint = Static("", id="chats-hint", markup=False)
        self.use(store)

    def use(self, store: "Store | None") -> None:
        """Show the conversations of a store, once it is open."""
        if store is not None and store is getattr(self, "_store", None):
            return  # what was deleted from it can still be brought back
        self._store = store
        self._changes = Changes(store) if store is not None else None

    @on(ChatField.Answered)
    def obey(self, message: ChatField.Answered) -> None:
        """Do what the text was asked for."""
        if self._changes is None:
            return
        id_, title = message.summary.id, message.summary.title
        if message.purpose == "rename":
            self._change(self._changes.rename(id_, message.text))
        else:
            self._folder = (self._folder / Path(message.text).expanduser()).absolute()
            self._change(self._changes.export(id_, title, self._folder))

    @on(ChatField.Left)
    def settle(self) -> None:
        """Go back to the list."""
        self.say("")
        self.shelf.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the single letters while the list has the focus, not while one types."""
        if action in ("rename", "pin", "delete", "export"):
            return self.shelf.has_focus and self.shelf.chosen is not None
        if action == "undo":
            return self.shelf.has_focus and bool(self._changes and self._changes.deleted)
        return True

    def action_rename(self) -> None:
        """Ask for another title."""
        if self.shelf.chosen:
            self._ask("rename", self.shelf.chosen.title)

    def action_export(self) -> None:
        """Ask for the folder to export into."""
        self._ask("export", str(self._folder))

    def action_pin(self) -> None:
        """Pin the conversation, or let it go."""
        if self._changes and (chosen := self.shelf.chosen):
            self._change(self._changes.pin(chosen.id, not chosen.pinned))

    def action_delete(self) -> None:
        """Delete the conversation; a key brings it back."""
        if self._changes and (chosen := self.shelf.chosen):
            self._change(self._changes.delete(chosen.id))

    def action_undo(self) -> None:
        """Bring back what was deleted last."""
        if self._changes and self._changes.deleted:
            self._change(self._changes.undo())

    def _ask(self, purpose: Purpose, text: str) -> None:
        if (chosen := self.shelf.chosen) is not None:
            self.say(HINTS[purpose])
            y = self.shelf.region.y - self.region.y + self.shelf.top(self.shelf.cursor)
            self.field.ask(purpose, chosen, text, y)

    @work(group="chat-changes")
    async def _change(self, change: Awaitable[News]) -> None:
        try:
            news = await change
        except SpecchatError as error:
            self.complain(error)
            return
        if news.text:
            self.notify(safe(news.text), markup=False)
        self.post_message(news)

    def complain(self, error: SpecchatError) -> None:
        """Say what went wrong."""
        self.notify(safe(str(error)), severity="error", markup=False)

    def say(self, text: str) -> None:
        """Say something below the list."""
        self.hint.update(text)
        self.hint.display = bool(text)
