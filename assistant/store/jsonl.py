"""Export and import of conversations as JSON lines, without any loss.

A conversation's JSON lines are one for itself, `{"specchat": 1, "title": ...}`, and one for each
message on any branch, `{"id": 1, "parent": null, "role": "user", "content": ...}`; an answer's
`steps` say of each token where it came from, and its `calls` are of tools, whose results are
messages, too. Several conversations may follow one another.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated

import msgspec

from assistant.events import Stats
from assistant.request import ToolCall
from assistant.store.values import INTERRUPTED, Attachment, FullConversation, Record, Role, State
from assistant.tokens import Trace
from models.errors import StorageError

FORMAT = 2
"""The format number of a conversation with tool calls; one without has 1."""
_NEWER = "A newer specchat exported this (format {}). Update specchat."
# JSON does not escape these; unescaped, they could control a terminal that shows the file.
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
    """Yield the JSON lines of a conversation, without line ends."""
    version = FORMAT if any(message.calls for message in whole.messages) else 1
    yield _json(_Head(version, *(getattr(whole, name) for name in _Head.__struct_fields__[1:])))
    for message in whole.messages:
        fields = {name: getattr(message, name) for name in _Line.__struct_fields__[:-1]}
        yield _json(_Line(**fields, steps=whole.traces.get(message.id, ())))


def read(text: Iterable[str | bytes]) -> Iterator[FullConversation]:
    """Yield the conversations in an export; StorageError has the number of a damaged line."""
    head: _Head | None = None
    found: list[_Line] = []
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        try:
            if (version := msgspec.json.decode(line, type=_Kind).specchat) is not None:
                if head:
                    yield _whole(head, found)
                if version > FORMAT:
                    raise StorageError(_NEWER.format(version))
                head, found = msgspec.json.decode(line, type=_Head), []
            elif head is None:
                raise ValueError("it belongs to no conversation")
            else:
                found.append(msgspec.json.decode(line, type=_Line))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise StorageError(f"Line {number} is not from a specchat export: {error}.") from error
    if head:
        yield _whole(head, found)


def _whole(head: _Head, found: list[_Line]) -> FullConversation:
    fields = {name: getattr(head, name) for name in _Head.__struct_fields__[1:]}
    traces = {line.id: line.steps for line in found}
    return FullConversation(**fields, messages=tuple(map(_record, found)), traces=traces)


def _record(line: _Line) -> Record:
    record = Record(**{name: getattr(line, name) for name in _Line.__struct_fields__[:-1]})
    if record.state == "streaming":  # it was exported before it ended
        return replace(record, state="failed", stop=INTERRUPTED)
    return record


def _json(value: msgspec.Struct) -> str:
    text = msgspec.json.encode(value).decode()
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
