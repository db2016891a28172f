"""Export of a conversation's selected branch as Markdown, with YAML front matter."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime

from assistant.store.values import Attachment, FullConversation, Record

_WHO = {"user": "You", "assistant": "Assistant", "system": "System", "tool": "Tool"}
# Characters that YAML allows only escaped.
_UNSEEN = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def markdown(whole: FullConversation) -> str:
    """Return the selected branch of a conversation as a Markdown document."""
    path = _path(whole)
    models = dict.fromkeys(message.model for message in path if message.model)
    front = {
        "title": whole.title,
        "date": datetime.fromtimestamp(whole.created, UTC).isoformat(timespec="seconds"),
        "model": ", ".join(models),
    }
    parts = ["\n".join(["---", *(f"{name}: {_quoted(front[name])}" for name in front), "---"])]
    if whole.system:
        parts += ["## System", whole.system]
    parts += [part for message in path for part in _message(message)]
    return "\n\n".join(parts) + "\n"


def _path(whole: FullConversation) -> list[Record]:
    messages = {message.id: message for message in whole.messages}
    path, at = [], whole.leaf
    while at is not None and at in messages:
        path.append(messages.pop(at))
        at = path[-1].parent
    return path[::-1]


def _quoted(text: str) -> str:
    # Apart from these characters, a JSON string is a YAML string.
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _message(message: Record) -> Iterator[str]:
    yield f"## {_WHO[message.role]}"
    yield from map(_attachment, message.attachments)
    if message.thought:
        yield "\n".join(f"> {line}".rstrip() for line in message.thought.strip().splitlines())
    if message.role == "tool":
        name = message.calls[0].name if message.calls else "result"
        returned = _attachment(Attachment(name, message.content))
        yield returned if message.content else returned.partition("\n")[0]
    else:
        if message.content or not message.calls:
            yield message.content
        for call in message.calls:
            yield _attachment(Attachment(f"{call.name} is called", call.arguments))
    if message.state in ("stopped", "failed"):
        yield f"*({message.stop or message.state})*"


def _attachment(attachment: Attachment) -> str:
    runs = re.findall("`{3,}", attachment.text)
    fence = "`" * (max(map(len, runs), default=2) + 1)
    name = " ".join(attachment.name.split()).replace("`", "'")
    text = attachment.text.removesuffix("\n")
    return f"`{name}`\n\n{fence}\n{text}\n{fence}"
