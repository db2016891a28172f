"""The day of a conversation: the variables of templates, and the words before questions, for it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import takewhile

from assistant.prompt.template import ChatTemplate, Variables
from assistant.request import Message


def day_variables(day: str) -> Mapping[str, object]:
    """Return the variables by which templates ask what day it is; the time is midnight."""
    then = date.fromisoformat(day)
    return {"strftime_now": then.strftime, "date_string": then.strftime("%d %b %Y")}


def with_days(messages: Sequence[Message], known: str) -> Iterator[Message]:
    """Yield a conversation in which the first question of each day says which day it is.

    The day stands after the attachments, which may be cached since another day. `known` is the day
    that the prompt begins with, if any.
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


def shows_day(template: ChatTemplate, messages: Sequence[Message], variables: Variables) -> bool:
    """Return whether a template shows the day; some do so only without a system prompt."""
    system = takewhile(lambda message: message.role == "system", messages)
    start = [*system, Message("user", "?")]
    days = (day_variables(day) for day in ("2001-02-03", "2004-05-06"))
    return len({template.render(start, {**variables, **day}) for day in days}) == 2
