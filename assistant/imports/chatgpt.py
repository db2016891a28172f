"""ChatGPT's `conversations.json`: conversations as trees of nodes, many of which are not shown."""

from typing import Annotated, Any

import msgspec

from assistant.imports.tree import Node, grow
from assistant.store.values import Role, Whole

_Time = Annotated[float, msgspec.Meta(ge=0, lt=253_402_300_800)]  # before the year 10000
_TEXTS = {"text", "multimodal_text", "code"}
"""The kinds of content that are shown as what somebody said."""


class _Author(msgspec.Struct):
    role: str


class _Content(msgspec.Struct):
    content_type: str = "text"
    parts: list[Any] | None = None
    text: str | None = None


class _Metadata(msgspec.Struct):
    model_slug: str | None = None
    is_visually_hidden_from_conversation: bool | None = None


class _Message(msgspec.Struct):
    author: _Author
    content: _Content | None = None
    create_time: _Time | None = None
    weight: float | None = None  # 0: not shown
    recipient: str | None = None  # anything but "all" is a tool
    metadata: _Metadata | None = None


class _Place(msgspec.Struct):
    parent: str | None = None
    message: _Message | None = None


class _Conversation(msgspec.Struct):
    mapping: dict[str, _Place]
    title: str | None = None
    create_time: _Time | None = None
    update_time: _Time | None = None
    current_node: str | None = None


def read(data: bytes) -> tuple[Whole, ...]:
    """Return the conversations of a file, or of an object that is one.

    Raises:
        ValueError: it makes no sense; msgspec's errors are such.
    """
    if data.startswith(b"{"):
        return (_whole(msgspec.json.decode(data, type=_Conversation)),)
    return tuple(map(_whole, msgspec.json.decode(data, type=list[_Conversation])))


def _whole(conversation: _Conversation) -> Whole:
    created = conversation.create_time or 0.0
    nodes = [_node(id_, place) for id_, place in conversation.mapping.items()]
    updated = max(created, conversation.update_time or created)
    title = " ".join((conversation.title or "").split())
    return grow(title, "", created, updated, nodes, conversation.current_node)


def _node(id_: str, place: _Place) -> Node:
    message = place.message
    role = _role(message) if message else None
    if message is None or role is None:
        return Node(id_, place.parent)
    text = _text(message.content or _Content())
    if not text.strip():
        return Node(id_, place.parent)
    model = (message.metadata and message.metadata.model_slug) or ""
    named = model if role == "assistant" else ""
    return Node(id_, place.parent, role, text, message.create_time, named)


def _role(message: _Message) -> Role | None:
    """Return who says it, if it is shown to a person."""
    hidden = message.metadata and message.metadata.is_visually_hidden_from_conversation
    if hidden or message.weight == 0 or message.recipient not in (None, "all"):
        return None
    if message.content is None or message.content.content_type not in _TEXTS:
        return None
    shown: dict[str, Role] = {"user": "user", "assistant": "assistant"}
    return shown.get(message.author.role)


def _text(content: _Content) -> str:
    parts = [*(content.parts or ()), *([content.text] if content.text else ())]
    return "\n".join(part if isinstance(part, str) else _stand_in(part) for part in parts)


def _stand_in(part: object) -> str:
    """Return what stands for an image or a sound, which the export has elsewhere."""
    kind = part.get("content_type") if isinstance(part, dict) else None
    return f"[{kind if isinstance(kind, str) else 'attachment'}]"
