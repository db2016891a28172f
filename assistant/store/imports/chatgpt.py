"""ChatGPT's `conversations.json`: conversations as trees of nodes, many of which are not shown.

There is no description of the format by its maker; this holds to what exports of 2023 to 2026 have.
"""

import json
import re
from typing import Annotated, Any

import msgspec

from assistant.store.imports.message_tree import Node, grow
from assistant.store.values import FullConversation, Role

_Time = Annotated[float, msgspec.Meta(ge=0, lt=253_402_300_800)]  # before the year 10000
_TEXTS = {"text", "multimodal_text", "code", "thoughts"}
"""The kinds of content that are shown as what somebody said."""
# Names, links and citations in the middle of a text stand between codes.
_MARK = re.compile("( ?)\ue200([^\ue200\ue201]*)\ue201")
_CODES = re.compile("[\ue200-\ue206]")
_NEXT = "\ue202"


class _Author(msgspec.Struct):
    role: str


class _Thought(msgspec.Struct):
    summary: str | None = None
    content: str | None = None


class _Content(msgspec.Struct):
    content_type: str = "text"
    parts: list[Any] | None = None
    text: str | None = None
    thoughts: list[_Thought] | None = None


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
    default_model_slug: str | None = None


class _Wrapped(msgspec.Struct):
    conversations: list[_Conversation]


def read(data: bytes) -> tuple[FullConversation, ...]:
    """Return the conversations of a file, or of an object that is one.

    Raises:
        ValueError: it is invalid; msgspec's errors are such.
    """
    if data.startswith(b"{"):
        return (_whole(msgspec.json.decode(data, type=_Conversation)),)
    return tuple(map(_whole, msgspec.json.decode(data, type=list[_Conversation])))


def read_wrapped(data: bytes) -> tuple[FullConversation, ...]:
    """Return the conversations of an object that holds nothing else.

    Raises:
        ValueError: it is invalid.
    """
    return tuple(map(_whole, msgspec.json.decode(data, type=_Wrapped).conversations))


def _whole(conversation: _Conversation) -> FullConversation:
    usual = conversation.default_model_slug or ""
    usual = "" if usual == "auto" else usual  # whichever it was
    nodes = [_node(id_, place, usual) for id_, place in conversation.mapping.items()]
    times = [node.created for node in nodes if node.created is not None]
    created = conversation.create_time or min(times, default=0.0)
    updated = max(created, conversation.update_time or max(times, default=created))
    title = " ".join((conversation.title or "").split())
    return grow(title, "", created, updated, nodes, conversation.current_node)


def _node(id_: str, place: _Place, usual: str) -> Node:
    message = place.message
    role = _role(message) if message else None
    if message is None or role is None:
        return Node(id_, place.parent)
    content = message.content or _Content()
    text, thought = _text(content), _thought(content)
    if not text.strip() and not thought:
        return Node(id_, place.parent)
    model = (message.metadata and message.metadata.model_slug) or usual
    named = model if role == "assistant" else ""
    return Node(id_, place.parent, role, text, message.create_time, named, thought=thought)


def _role(message: _Message) -> Role | None:
    """Return who says it, if it is shown to a user."""
    hidden = message.metadata and message.metadata.is_visually_hidden_from_conversation
    if hidden or message.weight == 0 or message.recipient not in (None, "all"):
        return None
    if message.content is None or message.content.content_type not in _TEXTS:
        return None
    shown: dict[str, Role] = {"user": "user", "assistant": "assistant"}
    if message.content.content_type == "multimodal_text":
        shown["tool"] = "assistant"  # a picture that was drawn
    return shown.get(message.author.role)


def _text(content: _Content) -> str:
    parts = [*(content.parts or ()), *([content.text] if content.text else ())]
    texts = [part if isinstance(part, str) else _stand_in(part) for part in parts]
    text = _plain("\n".join(filter(None, texts)))
    heard = any(isinstance(part, dict) for part in parts)
    return text if text.strip() or not heard else "[audio]"


def _thought(content: _Content) -> str:
    told = (part for each in content.thoughts or () for part in (each.summary, each.content))
    return _plain("\n\n".join(filter(None, told)))


def _stand_in(part: object) -> str:
    """Return what was spoken, or what stands for an image: the export has it elsewhere."""
    kind = part.get("content_type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(kind, str):
        return "[attachment]"
    if "audio" in kind:  # the text of what was said comes as a part of its own, beside the sound
        return str(part.get("text") or "")
    return f"[{kind.removesuffix('_asset_pointer')}]"


def _plain(text: str) -> str:
    """Return a text with names and links as words, and without the marks around them."""
    return _CODES.sub("", _MARK.sub(_word, text))


def _word(mark: re.Match[str]) -> str:
    kind, *about = mark[2].split(_NEXT)
    word = _shown(kind, about)
    return f"{mark[1]}{word}" if word else ""


def _shown(kind: str, about: list[str]) -> str:
    if kind == "entity" and about:  # ["city", "Paris", "of France"]
        return _name(about[0])
    if kind == "url" and about:
        label, *links = about
        return f"[{label}]({links[0]})" if links and links[0].startswith("http") else label
    return ""


def _name(about: str) -> str:
    try:
        found = json.loads(about)
    except (ValueError, RecursionError):
        return about
    fits = isinstance(found, list) and len(found) > 1 and isinstance(found[1], str)
    return found[1] if fits else ""
