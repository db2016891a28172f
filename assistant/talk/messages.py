"""A path of stored messages as the messages of a request."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from assistant.request import Message
from assistant.store.values import Attachment, Record
from assistant.talk.calls import NO_MORE, NOT_RUN, result_text


def messages_of(path: Sequence[Record], system: str, model: str) -> tuple[Message, ...]:
    """Return the messages that a model with this name reads."""
    messages = [Message("system", system)] if system else []
    unanswered: tuple[str, ...] = ()  # ids of calls
    for record in path:
        if record.role == "tool":
            call_id = record.calls[0].id if record.calls else ""
            unanswered = tuple(each for each in unanswered if each != call_id)
            text = result_text(record.content, record.stop)
            messages.append(Message("tool", text, call_id=call_id))
            continue
        messages += [Message("tool", NOT_RUN, call_id=call_id) for call_id in unanswered]
        unanswered = tuple(call.id for call in record.calls)
        content = joined(record.content, record.attachments)
        if record.role == "user" and messages and messages[-1].role == "user":
            # A question that was never answered; many templates want the roles to alternate.
            content = f"{messages.pop().content}\n\n{content}"
        # Token ids mean nothing to another model.
        ids = record.token_ids if record.model == model else ()
        messages.append(Message(record.role, content, ids, record.thought, record.calls))
    if messages and messages[-1].role == "tool":
        messages += [Message("tool", NOT_RUN, call_id=call_id) for call_id in unanswered]
    return tuple(messages)


def without_more_calls(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return a conversation whose last result says that no more calls will be run."""
    *before, last = messages
    if last.role != "tool":
        return tuple(messages)
    return (*before, replace(last, content=f"{last.content}\n\n[{NO_MORE}]"))


def joined(text: str, attachments: Iterable[Attachment]) -> str:
    """Return the message that the model reads: the words, then each text between two fences."""
    parts = [text, *(_fenced(attachment) for attachment in attachments)]
    return "\n\n".join(part for part in parts if part.strip())


def _fenced(attachment: Attachment) -> str:
    runs = re.findall("`{3,}", attachment.text)
    fence = "`" * (max(map(len, runs), default=2) + 1)  # what the text holds does not end it
    return f"{attachment.name}:\n{fence}\n{attachment.text}\n{fence}"
