"""Conversations as JSON lines, which keep everything and can be read back.

A conversation's JSON lines are one for itself, `{"specchat": 1, "title": ...}`, and one for each
message on any branch, `{"id": 1, "parent": null, "role": "user", "content": ...}`; an answer's
`steps` say of each token where it came from, and its `calls` are of tools, whose results are
messages, too. Several conversations may follow one another.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated

import msgspec

from assistant.events import Stats
from assistant.request import ToolCall
from assistant.store.values import Attachment, FullConversation, Record, Role, State
from assistant.tokens import Trace
from models.errors import StorageError

FORMAT = 2
"""What is written for a conversation with calls; one without has 1, as before there were any."""
# JSON leaves these as they are; escaped, they command no terminal that shows the file.
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

_Time = Annotated[float, msgspec.Meta(ge=0, lt=253_402_300_800)]  # before the year 10000
_TokenId = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]


class _Head(msgspec.Struct):
    specchat: int
    title: str = ""
    named: bool = False
    system: str = ""
    created: _Time = 0.0
    updated: _Time = 0.0
    pinned: bool = False
    leaf: int | None = None


class _Line(msgspec.Struct, omit_defaults=True):
    id: int
    role: Role
    content: str
    created: _Time
    state: State
    parent: int | None = None
    model: str = ""
    stop: str | None = None
    token_ids: tuple[_TokenId, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    stats: Stats | None = None
    thought: str = ""
    calls: tuple[ToolCall, ...] = ()
    seconds: float = 0.0
    steps: Trace = ()


class _Kind(msgspec.Struct):
    specchat: int | None = None  # only the first line of a conversation has it


def lines(whole: FullConversation) -> Iterator[str]:
    """Yield a conversation as JSON lines, without line ends."""
    version = FORMAT if any(message.calls for message in whole.messages) else 1
    yield _json(_Head(version, *(getattr(whole, name) for name in _Head.__struct_fields__[1:])))
    for message in whole.messages:
        fields = {name: getattr(message, name) for name in _Line.__struct_fields__[:-1]}
        yield _json(_Line(**fields, steps=whole.traces.get(message.id, ())))


def read(text: Iterable[str | bytes]) -> Iterator[FullConversation]:
    """Yield the conversations of JSON lines; StorageError says which line is not one."""
    head: _Head | None = None
    found: list[_Line] = []
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        try:
            if (version := msgspec.json.decode(line, type=_Kind).specchat) is not None:
                if head:
                    yield _whole(head, found)
                head, found = _head(line, version), []
            elif head is None:
                raise ValueError("it belongs to no conversation")
            else:
                found.append(msgspec.json.decode(line, type=_Line))
        except (msgspec.MsgspecError, ValueError) as error:
            raise StorageError(f"Line {number} is not from a specchat export: {error}.") from error
    if head:
        yield _whole(head, found)


def _head(line: str | bytes, version: int) -> _Head:
    if version > FORMAT:
        raise StorageError(f"A newer specchat exported this (format {version}). Update specchat.")
    return msgspec.json.decode(line, type=_Head)


def _whole(head: _Head, found: list[_Line]) -> FullConversation:
    names = _Line.__struct_fields__[:-1]
    records = tuple(Record(**{name: getattr(line, name) for name in names}) for line in found)
    fields = {name: getattr(head, name) for name in _Head.__struct_fields__[1:]}
    return FullConversation(
        **fields, messages=records, traces={line.id: line.steps for line in found}
    )


def _json(value: msgspec.Struct) -> str:
    text = msgspec.json.encode(value).decode()
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
