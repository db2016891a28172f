"""The list of conversations, line by line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content

from tui.chat.panel.panel_text import MUTED, pair
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.store.values import ChatSummary

PINNED = "Pinned"


class ListRow(NamedTuple):
    """A line of the list; `heading` is empty for a conversation's title and snippet."""

    heading: str
    place: int  # of the conversation
    snippet: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """Conversations and the lines they take; made on a thread, as there may be thousands."""

    summaries: Sequence["ChatSummary"] = ()
    words: tuple[str, ...] = ()  # that were searched for
    today: date = date.min
    rows: tuple[ListRow, ...] = ()
    tops: tuple[int, ...] = ()  # first row of each conversation


def listing(summaries: Sequence["ChatSummary"], search: str, today: date) -> Listing:
    """Return the lines of the list."""
    lines = tuple(_rows(summaries, today))
    tops = tuple(y for y, row in enumerate(lines) if not row.heading and not row.snippet)
    return Listing(summaries, tuple(search.casefold().split()), today, lines, tops)


def title(summary: "ChatSummary", today: date, is_open: bool, width: int) -> Content:
    """Return the title, the time at the right, and a mark on the conversation that is open."""
    time = Content.styled(f"{when(summary, today)} ", MUTED)
    name = Content(safe(summary.title) or "Untitled")
    name = name.truncate(width - time.cell_length - 3, ellipsis=True)
    mark = Content.styled("▌ " if is_open else "  ", "$accent")
    return pair(mark + (name.stylize("bold") if is_open else name), time, width)


def snippet(summary: "ChatSummary", words: Sequence[str], width: int) -> Content:
    """Return the part of a snippet around the first of the words, which are in bold."""
    text = safe(summary.snippet)
    folded = text.casefold()
    at = min((folded.find(word) for word in words if word in folded), default=0)
    start = max(0, min(at - width // 4, len(text) - width + 5))
    shown = Content.styled(f"  {'…' * (start > 0)}{text[start : start + width]}", MUTED)
    for word in words:
        found = shown.plain.casefold().find(word)
        if found >= 0:
            shown = shown.stylize("bold $text-accent", found, found + len(word))
    return shown.truncate(width - 1, ellipsis=True)


def _rows(summaries: Sequence["ChatSummary"], today: date) -> Iterator[ListRow]:
    """Yield a heading wherever the group changes, with a blank line above."""
    heading = ""
    for place, summary in enumerate(summaries):
        if (other := group(summary, today)) != heading:
            if heading:
                yield ListRow(" ", -1)
            heading = other
            yield ListRow(heading, -1)
        yield ListRow("", place)
        if summary.snippet:
            yield ListRow("", place, snippet=True)


def group(summary: "ChatSummary", today: date) -> str:
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


def when(summary: "ChatSummary", today: date) -> str:
    """Return the time of a day that is near, and else the day."""
    moment = datetime.fromtimestamp(summary.updated)
    if moment.date() >= today - timedelta(days=1):
        return f"{moment:%H:%M}"
    if summary.pinned and moment.year != today.year:
        return f"{moment:%Y}"
    return f"{moment.day} {moment:%b}"
