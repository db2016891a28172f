"""What day it is, which models do not know: the first question of each day says so."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date

from assistant.request import Message


def day_variables(day: str) -> Mapping[str, object]:
    """Return the variables by which templates ask what day it is; the time is midnight."""
    then = date.fromisoformat(day)
    return {"strftime_now": then.strftime, "date_string": then.strftime("%d %b %Y")}


def with_days(messages: Sequence[Message], known: str) -> Iterator[Message]:
    """Yield a conversation in which the first question of each day says which day it is.

    That stands after what is attached, which the caches may hold since another day. `known` is
    the day that the prompt begins with, if any.
    """
    for message in messages:
        if message.day and message.day != known:
            known, then = message.day, date.fromisoformat(message.day)
            # "Today is ..." makes small models restrict a query to today.
            line = f"(Asked on {then:%A}, {then.day} {then:%B %Y}.)"
            attached = message.content[: message.attached].rstrip()
            parts = filter(None, (attached, line, message.content[message.attached :]))
            message = replace(message, content="\n\n".join(parts))
        yield message
