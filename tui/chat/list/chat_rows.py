"""Conversations in groups by date; thousands cost no more than those on the screen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.reactive import reactive

from tui.chat.list.row_text import Listing, snippet, title
from tui.widgets.lines import Lines

if TYPE_CHECKING:
    from assistant.store.values import ChatSummary

CURSOR = "$block-cursor-foreground on $block-cursor-background"
CURSOR_BLURRED = "on $block-cursor-blurred-background"


class ChatRows(Lines, can_focus=True):
    """Show conversations, one of them under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "step(-1)", "Up", show=False, id="chats.up"),
        Binding("down,j", "step(1)", "Down", show=False, id="chats.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="chats.page_up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="chats.page_down"),
        Binding("home,g", "go(0)", "First", show=False, id="chats.first"),
        Binding("end,G", "go(-1)", "Last", show=False, id="chats.last"),
        Binding("enter", "choose", "Open", id="chats.open"),
    ]

    cursor: reactive[int] = reactive(0, init=False)
    """The number of the conversation under the cursor."""
    current: reactive[int | None] = reactive[int | None](None, init=False)
    """The id of the conversation that is open."""

    @dataclass
    class Chosen(Message):
        """A conversation is to be opened, at the message that was found, if any."""

        id: int
        message: int | None

    def __init__(self) -> None:
        super().__init__(id="shelf")
        self.listing = Listing()

    @property
    def summaries(self) -> Sequence["ChatSummary"]:
        """The conversations that are shown."""
        return self.listing.summaries

    @property
    def chosen(self) -> "ChatSummary | None":
        """The conversation under the cursor."""
        return self.summaries[self.cursor] if self.cursor < len(self.summaries) else None

    def fill(self, listing: Listing) -> None:
        """Show other conversations; the cursor stays on the same one, or finds the first."""
        same_search = listing.words == self.listing.words
        before = self.chosen if same_search or not listing.words else None
        ids = [summary.id for summary in listing.summaries]
        if before is not None and before.id in ids:
            at = ids.index(before.id)
        else:
            at = min(self.cursor, max(len(ids) - 1, 0)) if same_search else 0
        self.listing = listing
        self.set_reactive(ChatRows.cursor, at)
        self.resize_lines(len(listing.rows))
        self._follow()

    def go_to(self, conversation: int | None) -> None:
        """Put the cursor onto a conversation, if it is listed."""
        ids = [summary.id for summary in self.summaries]
        if conversation in ids:
            self.cursor = ids.index(conversation)

    def line(self, y: int) -> Content:
        """Return a heading, a title or a snippet."""
        row = self.listing.rows[y]
        if row.heading:
            return Content.styled(f" {row.heading}", "bold $text-accent")
        summary = self.summaries[row.place]
        if row.snippet:
            shown = snippet(summary, self.listing.words, self.room)
        else:
            shown = title(summary, self.listing.today, summary.id == self.current, self.room)
        if row.place != self.cursor:
            return shown
        look = CURSOR if self.has_focus else CURSOR_BLURRED
        if self.app.no_color:
            look = "reverse" if self.has_focus else "underline"
        return Content(shown.pad_right(self.room - shown.cell_length).plain).stylize(look)

    def watch_cursor(self, old: int, new: int) -> None:
        """Paint what changed."""
        for place in (old, new):
            self._change(place)
        self._follow()

    def watch_current(self) -> None:
        """Mark another conversation."""
        self.resize_lines(len(self.listing.rows))

    def watch_has_focus(self, has_focus: bool) -> None:
        """Show the cursor as one that keys move, or do not."""
        super().watch_has_focus(has_focus)
        self._change(self.cursor)

    def on_click(self, event: events.Click) -> None:
        """Open the conversation under the mouse."""
        offset = event.get_content_offset(self)
        y = -1 if offset is None else offset.y + self.scroll_offset.y
        if 0 <= y < len(self.listing.rows) and not self.listing.rows[y].heading:
            self.cursor = self.listing.rows[y].place
            self.action_choose()

    def action_choose(self) -> None:
        """Have the conversation under the cursor opened."""
        if self.chosen is not None:
            self.post_message(self.Chosen(self.chosen.id, self.chosen.found))

    def action_step(self, by: int) -> None:
        """Go to a neighbour."""
        self.cursor = min(max(self.cursor + by, 0), max(len(self.summaries) - 1, 0))

    def action_page(self, by: int) -> None:
        """Go as far as fits the screen."""
        self.action_step(by * max(self.size.height - 2, 1))

    def action_go(self, place: int) -> None:
        """Go to a conversation; -1 is the last."""
        self.cursor = place % len(self.summaries) if self.summaries else 0

    def _change(self, place: int) -> None:
        if place < len(self.listing.tops):
            self.change_line(self.listing.tops[place])
            self.change_line(self.listing.tops[place] + 1)

    def _follow(self) -> None:
        if self.listing.tops:
            top = self.listing.tops[self.cursor]
            above = 1 if top and self.listing.rows[top - 1].heading else 0
            there = Region(0, top - above, self.room, 1 + above + bool(self.listing.words))
            self.scroll_to_region(there, animate=False, force=True)
