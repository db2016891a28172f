"""When a conversation was last gone on with, as people say it."""

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assistant.store import ChatSummary


PINNED = "Pinned"


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
