"""The exports of llama.cpp's web UI: objects with `conv` and `messages`, or lines of them."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from assistant.store.imports.message_tree import Node, grow
from assistant.store.values import Attachment, FullConversation, Role

_Millis = Annotated[float, msgspec.Meta(ge=0, lt=253_402_300_800_000)]
_TEXTS = {"TEXT", "PDF", "context", "PASTED", "MCP_PROMPT", "MCP_RESOURCE"}
"""The kinds of attachments that have a text."""


class _Extra(msgspec.Struct):
    type: str = ""
    name: str = ""
    content: str | None = None


class _Message(msgspec.Struct):
    id: str | int
    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = None
    type: str = "text"  # "root" is where a conversation begins; nobody says it
    timestamp: _Millis | None = None
    parent: str | int | None = None
    model: str | None = None
    extra: list[_Extra] | None = None
    reasoning: str | None = msgspec.field(name="reasoningContent", default=None)
    thinking: str | None = None  # the same, in earlier versions


class _Conv(msgspec.Struct):
    name: str = ""
    modified: _Millis | None = msgspec.field(name="lastModified", default=None)
    leaf: str | int | None = msgspec.field(name="currNode", default=None)


class _Exported(msgspec.Struct):
    conv: _Conv
    messages: list[_Message]


class _Line(msgspec.Struct):
    type: str
    message: _Message | None = None


def read(data: bytes) -> tuple[FullConversation, ...]:
    """Return the conversations of a file of JSON.

    Raises:
        ValueError: it is invalid; msgspec's errors are such.
    """
    if data.startswith(b"{"):
        return (_whole(msgspec.json.decode(data, type=_Exported)),)
    return tuple(map(_whole, msgspec.json.decode(data, type=list[_Exported])))


def read_lines(data: bytes) -> tuple[FullConversation, ...]:
    """Return the conversations of JSON lines: one for itself, then one for each message.

    Raises:
        ValueError: a line is invalid.
    """
    found: list[_Exported] = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            read_ = msgspec.json.decode(line, type=_Line)
            if read_.type == "session":
                found.append(_Exported(msgspec.json.decode(line, type=_Conv), []))
            elif read_.type == "message" and read_.message and found:
                found[-1].messages.append(read_.message)
        except (msgspec.MsgspecError, ValueError) as error:
            raise ValueError(f"line {number}: {error}") from error
    return tuple(map(_whole, found))


def _whole(exported: _Exported) -> FullConversation:
    messages, conv = exported.messages, exported.conv
    times = [message.timestamp / 1000 for message in messages if message.timestamp is not None]
    updated = conv.modified / 1000 if conv.modified else max(times, default=0.0)
    created = min(times, default=updated)
    leaf = None if conv.leaf is None else str(conv.leaf)
    nodes = [_node(message) for message in messages]
    title = " ".join(conv.name.split())
    return grow(title, _system(messages), created, max(created, updated), nodes, leaf)


def _system(messages: Sequence[_Message]) -> str:
    said = (message.content for message in messages if message.role == "system")
    return next((text for text in said if text and text.strip()), "")


def _node(message: _Message) -> Node:
    parent = None if message.parent is None else str(message.parent)
    attachments = tuple(
        Attachment(extra.name, extra.content)
        for extra in message.extra or ()
        if extra.type in _TEXTS and extra.content
    )
    text, role = message.content or "", _ROLES.get(message.role)
    thought = (message.reasoning or message.thinking or "") if role == "assistant" else ""
    said = text.strip() or attachments or thought.strip()
    if message.type == "root" or role is None or not said:
        return Node(str(message.id), parent)
    created = None if message.timestamp is None else message.timestamp / 1000
    model = (message.model or "") if role == "assistant" else ""
    return Node(str(message.id), parent, role, text, created, model, attachments, thought)


_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant"}
