"""The list of conversations: search, open, rename, pin, delete, export."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key
from textual.message import Message
from textual.widgets import Input, Static

from assistant.store.values import ChatSummary
from models.errors import SpecchatError
from models.files.places import expand_user
from tui.chat.chat_rows import ChatRows, listing
from tui.widgets.entry_screen import EntryLine, EntryScreen

if TYPE_CHECKING:
    from assistant.store.store import Store

MAX_LISTED = 5000
"""Conversations that are listed; a search finds further ones."""
NARROWEST, WIDEST, TITLE_MARGIN = 34, 60, 12
"""Cells of the list, whose width fits its titles, and cells around a title."""
PAUSE_S = 0.15
"""Seconds after the last key before a search starts."""
NO_CHATS = "No conversations yet. What you send and see is kept here."
TO_FILE = "Export as Markdown"
NOT_FOUND = "No conversation contains these words."


class ChatList(Vertical):
    """List the stored conversations; letters search, other keys change the one at the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z", "act('undo')", "Undo", id="chats.undo"),
        Binding("ctrl+x", "act('export')", "Export", id="chats.export", tooltip=TO_FILE),
        Binding("ctrl+r", "act('rename')", "Rename", id="chats.rename"),
        Binding("delete", "act('delete')", "Delete", id="chats.delete"),
        Binding("ctrl+b", "act('pin')", "Pin", id="chats.pin", tooltip="Pin to the top"),
        Binding("escape", "back", "Back", id="chats.back"),
        Binding("down", "list", "To the list", id="chats.list"),
    ]
    DEFAULT_CSS = """
    ChatList {
        dock: left; display: none;
        width: 34; max-width: 45%; height: 1fr; background: $surface;

        & #chats-search { margin: 1 0; padding: 0 1 0 2; }
        & #shelf { height: 1fr; }
        &.-empty #shelf { height: 0; }
        & #chats-hint { height: auto; padding: 0 2; color: $text-muted; }
    }
    """

    @dataclass
    class Deleted(Message):
        """A conversation was deleted, or restored."""

        id: int
        is_back: bool = False

    class Left(Message):
        """The user leaves the list."""

    def __init__(self, store: "Store | None" = None, folder: Path | None = None) -> None:
        self.search = EntryLine(id="chats-search", placeholder="Type to search", compact=True)
        self.search.select_on_focus = False  # a second letter must not replace the first
        self.rows, self.hint = ChatRows(), Static("", id="chats-hint", markup=False)
        super().__init__(self.search, self.rows, self.hint, id="chats")
        self._store, self._folder = store, folder or Path.cwd()
        self._deleted: list[int] = []  # in this store; restored in reverse order

    def use(self, store: "Store | None") -> None:
        """Show the conversations of a store."""
        if store is not self._store:  # deletions in the same store can still be undone
            self._store, self._deleted = store, []

    def toggle(self) -> None:
        """Open and focus the list, or close it if it has the focus."""
        if self.display and self.has_focus_within:
            self.close()
        else:
            self.display = True
            with self.search.prevent(Input.Changed):
                self.search.value = ""
            self.rows.focus()
            self.refresh_list(to=self.rows.current)

    def close(self) -> None:
        """Close the list; a focused widget in it loses the focus at once."""
        has_focus, self.display = self.has_focus_within, False
        if has_focus:
            self.screen.set_focus(None)

    @work(exclusive=True, group="chats")
    async def refresh_list(
        self, pause_s: float = 0.0, opens: bool = False, to: int | None = None
    ) -> None:
        """Read the list again if it is open.

        Then open the first conversation if `opens`, or put the cursor onto the conversation `to`.
        """
        if self._store is None or not self.display:
            return
        await asyncio.sleep(pause_s)
        store, search = self._store, self.search.value.strip()
        try:
            listed = await asyncio.to_thread(
                lambda: listing(store.summaries(search, MAX_LISTED), search, date.today())
            )
        except SpecchatError as error:
            self.notify(str(error), severity="error")
            return
        self.rows.fill(listed, to)
        longest = max((len(summary.title) for summary in listed.summaries), default=0)
        self.styles.width = min(max(NARROWEST, longest + TITLE_MARGIN), WIDEST)
        self.set_class(not listed.rows, "-empty")
        reason = NOT_FOUND if search else NO_CHATS
        self.hint.update("" if listed.rows else reason)
        self.hint.display = not listed.rows
        self.refresh_bindings()
        if opens and listed.rows:
            self.rows.focus()
            self.rows.action_choose()

    @on(Input.Changed, "#chats-search")
    def _search_soon(self) -> None:
        self.refresh_list(pause_s=PAUSE_S)

    @on(Input.Submitted, "#chats-search")
    def _open_first(self) -> None:
        self.refresh_list(opens=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer keys by focus: while the user types a search, what edits text edits the search."""
        if action == "list":
            return self.search.has_focus and bool(self.rows.listing.rows)
        if action == "act":
            subject = self._deleted if parameters[0] == "undo" else self.rows.chosen
            has_keys = self.rows.has_focus or parameters[0] in ("rename", "pin")
            return has_keys and bool(subject)
        return True

    def action_act(self, action: Literal["rename", "pin", "delete", "undo", "export"]) -> None:
        """Change the conversation under the cursor, asking for a text if needed."""
        store, chosen = self._store, self.rows.chosen
        if store is None:
            return
        match action:
            case "undo" if self._deleted:
                id_ = self._deleted.pop()
                deletion = self.Deleted(id_, is_back=True)
                self._change(partial(store.undelete, id_), "Conversation restored.", deletion)
            case "pin" if chosen:
                self._change(partial(store.pin, chosen.id, not chosen.pinned))
            case "delete" if chosen:
                message = "Deleted. Ctrl+Z in this list brings it back."
                self._change(partial(store.delete, chosen.id), message, self.Deleted(chosen.id))
            case "rename" | "export" if chosen:
                entry = EntryScreen("Rename", chosen.title)
                if action == "export":
                    entry = EntryScreen("Export into this folder", str(self._folder))
                self.app.push_screen(entry, partial(self._use_text, action, chosen))

    def _use_text(self, action: str, chosen: ChatSummary, text: str | None) -> None:
        if self._store is None or text is None:
            return
        if action == "rename":
            self._change(partial(self._store.rename, chosen.id, text.strip()))
        else:
            self._folder = (self._folder / expand_user(text.strip())).absolute()
            self._change(partial(_export, self._store, chosen.id, self._folder), "Written to {}.")

    @work(group="chat-changes")
    async def _change(
        self, change: Callable[[], object], message: str = "", deletion: Deleted | None = None
    ) -> None:
        """Change a conversation on a thread, then notify and refresh."""
        try:
            result = await asyncio.to_thread(change)
        except SpecchatError as error:
            self.notify(str(error), severity="error")
            if deletion and deletion.is_back:
                self._deleted.append(deletion.id)
            return
        if deletion and not deletion.is_back:
            self._deleted.append(deletion.id)
        if message:
            self.notify(message.format(result))
        if deletion is not None:
            self.post_message(deletion)
        self.refresh_list(to=deletion.id if deletion and deletion.is_back else None)

    def on_key(self, event: Key) -> None:
        """Search for what is typed, wherever the cursor is."""
        if self.rows.has_focus and event.is_printable and event.character:
            event.stop()
            self.screen.set_focus(self.search)
            self.search.insert_text_at_cursor(event.character)

    def action_list(self) -> None:
        """Go from the search to its results."""
        self.rows.focus()

    def action_back(self) -> None:
        """Leave the list."""
        self.post_message(self.Left())


def _export(store: "Store", number: int, folder: Path) -> Path:
    from assistant.store.exports import write_into  # on a thread, after the first paint

    return write_into(folder, store.whole(number))
