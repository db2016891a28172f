"""Rows of conversations, grouped by date; only those on the screen are rendered."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import ClassVar, NamedTuple

from textual import events, on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.reactive import reactive, var

from assistant.store.values import ChatSummary
from tui.safe import safe
from tui.widgets.lines import MUTED, Lines, pair

PINNED = "Pinned"


class ListRow(NamedTuple):
    """A line of the list: a heading, or the title or snippet of a conversation."""

    heading: str
    chat_index: int
    snippet: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """Conversations and their lines; made on a thread, as there may be thousands."""

    summaries: Sequence[ChatSummary] = ()
    words: tuple[str, ...] = ()  # of the search
    today: date = date.min
    rows: tuple[ListRow, ...] = ()
    tops: tuple[int, ...] = ()  # the first row of each conversation


def listing(summaries: Sequence[ChatSummary], search: str, today: date) -> Listing:
    """Return the lines of the list."""
    lines = tuple(_rows(summaries, today))
    tops = tuple(y for y, row in enumerate(lines) if not row.heading and not row.snippet)
    return Listing(summaries, tuple(search.split()), today, lines, tops)


def title(summary: ChatSummary, today: date, is_open: bool, width: int) -> Content:
    """Return the title with the time at the right, and a mark if the conversation is open."""
    time = Content.styled(f"{when(summary, today)} ", MUTED)
    name = Content(safe(summary.title) or "Untitled")
    name = name.truncate(width - time.cell_length - 3, ellipsis=True)
    mark = Content.styled("▌ " if is_open else "  ", "$accent")
    return pair(mark + (name.stylize("bold") if is_open else name), time, width)


def snippet(summary: ChatSummary, words: Sequence[str], width: int) -> Content:
    """Return the part of a snippet around the first searched word, with the words in bold."""
    text = safe(summary.snippet)
    any_word = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
    match = any_word.search(text)
    before = match.start() - width // 4 if match else 0
    start = max(0, min(before, len(text) - width + 5))
    line = Content.styled(f"  {'…' if start > 0 else ''}{text[start : start + width]}", MUTED)
    line = line.highlight_regex(any_word, style="bold $text-accent")
    return line.truncate(width - 1, ellipsis=True)


def _rows(summaries: Sequence[ChatSummary], today: date) -> Iterator[ListRow]:
    heading = ""
    for index, summary in enumerate(summaries):
        before, heading = heading, group(summary, today)
        if heading != before:
            if before:
                yield ListRow(" ", -1)
            yield ListRow(heading, -1)
        yield ListRow("", index)
        if summary.snippet:
            yield ListRow("", index, snippet=True)


def group(summary: ChatSummary, today: date) -> str:
    """Return the heading under which a conversation is listed."""
    if summary.pinned:
        return PINNED
    day = datetime.fromtimestamp(summary.updated).date()
    if day >= today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    if day >= today - timedelta(days=today.weekday()):
        return "This week"
    if (day.year, day.month) == (today.year, today.month):
        return "This month"
    return f"{day:%B %Y}"


def when(summary: ChatSummary, today: date) -> str:
    """Return the time if it was today or yesterday, else the date."""
    moment = datetime.fromtimestamp(summary.updated)
    if moment.date() >= today - timedelta(days=1):
        return f"{moment:%H:%M}"
    if summary.pinned and moment.year != today.year:
        return f"{moment:%Y}"
    return f"{moment.day} {moment:%b}"


CURSOR = "$block-cursor-foreground on $block-cursor-background"
CURSOR_BLURRED = "on $block-cursor-blurred-background"


class ChatRows(Lines, can_focus=True):
    """Show conversations, one of them under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", "Up", id="chats.up"),
        Binding("down", "step(1)", "Down", id="chats.down"),
        Binding("pageup", "page(-1)", "Page up", id="chats.page_up"),
        Binding("pagedown", "page(1)", "Page down", id="chats.page_down"),
        Binding("home", "go(0)", "First", id="chats.first"),
        Binding("end", "go(-1)", "Last", id="chats.last"),
        Binding("enter", "choose", "Open", id="chats.open"),
    ]

    cursor: var[int] = var(0, init=False)
    """The number of the conversation under the cursor."""
    current: reactive[int | None] = reactive[int | None](None, init=False)
    """The id of the conversation that is open, which is marked."""

    @dataclass
    class Chosen(Message):
        """A conversation was chosen; `message` has the words of the search, if there is one."""

        id: int
        message: int | None
        words: tuple[str, ...] = ()

    def __init__(self) -> None:
        super().__init__(id="shelf")
        self.listing = Listing()

    @property
    def chosen(self) -> ChatSummary | None:
        """The conversation under the cursor."""
        summaries = self.listing.summaries
        return summaries[self.cursor] if self.cursor < len(summaries) else None

    def fill(self, listing: Listing, to: int | None = None) -> None:
        """Replace the conversations; go to that with the id `to`, else stay, or go to the first."""
        same_search = listing.words == self.listing.words
        before = self.chosen.id if self.chosen and (same_search or not listing.words) else None
        ids = [summary.id for summary in listing.summaries]
        index = min(self.cursor, max(len(ids) - 1, 0)) if same_search else 0
        wanted = to if to in ids else before
        if wanted in ids:
            index = ids.index(wanted)
        self.listing = listing
        self.set_reactive(ChatRows.cursor, index)
        self.resize_lines(len(listing.rows))
        self._scroll_to_cursor()

    def line(self, y: int) -> Content:
        """Return a heading, a title or a snippet."""
        row = self.listing.rows[y]
        if row.heading:
            return Content.styled(f" {row.heading}", "bold $text-accent")
        summary = self.listing.summaries[row.chat_index]
        if row.snippet:
            line = snippet(summary, self.listing.words, self.line_width)
        else:
            line = title(summary, self.listing.today, summary.id == self.current, self.line_width)
        if row.chat_index != self.cursor:
            return line
        style = CURSOR if self.has_focus else CURSOR_BLURRED
        if self.app.no_color:
            style = "reverse" if self.has_focus else "underline"
        return Content.styled(line.pad_right(self.line_width - line.cell_length).plain, style)

    def watch_cursor(self, old: int, new: int) -> None:
        """Repaint the rows that the cursor left and reached."""
        for index in (old, new):
            self._change_rows(index)
        self._scroll_to_cursor()

    def watch_has_focus(self, has_focus: bool) -> None:
        """Show whether keys move the cursor."""
        super().watch_has_focus(has_focus)
        self._change_rows(self.cursor)

    def on_click(self, event: events.Click) -> None:
        """Open the conversation under the mouse."""
        offset = event.get_content_offset(self)
        y = -1 if offset is None else offset.y + self.scroll_offset.y
        if 0 <= y < len(self.listing.rows) and not self.listing.rows[y].heading:
            self.cursor = self.listing.rows[y].chat_index
            self.action_choose()

    def action_choose(self) -> None:
        """Choose the conversation under the cursor."""
        if self.chosen is not None:
            self.post_message(self.Chosen(self.chosen.id, self.chosen.match, self.listing.words))

    def action_step(self, by: int) -> None:
        """Move by some conversations."""
        self.cursor = min(max(self.cursor + by, 0), max(len(self.listing.tops) - 1, 0))

    def action_page(self, by: int) -> None:
        """Move by a page."""
        self.action_step(by * max(self.size.height - 2, 1))

    def action_go(self, index: int) -> None:
        """Go to a conversation; -1 is the last."""
        self.cursor = index % len(self.listing.tops) if self.listing.tops else 0

    def _change_rows(self, index: int) -> None:
        if index < len(self.listing.tops):
            top = self.listing.tops[index]
            self.change_lines((top, top + 1))

    @on(events.Resize)
    def _scroll_to_cursor(self) -> None:
        if self.listing.tops:
            top = self.listing.tops[self.cursor]
            height = 2 if self.listing.words else 1  # a title, and a snippet of a search
            if height < self.size.height and self.listing.rows[top - 1].heading:
                top, height = top - 1, height + 1
            region = Region(0, top, self.line_width, height)
            self.scroll_to_region(region, animate=False, force=True)
