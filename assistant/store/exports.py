"""Exports of conversations: as JSON lines without any loss, which are read again, and as Markdown.

A conversation's JSON lines are one for itself, `{"specchat": 2, "title": ...}`, and one for each
message on any branch, `{"id": 1, "parent": null, "role": "user", "content": ...}`; an answer's
`steps` have the origin of each token, and its `calls` are of tools, whose results are messages,
too. Several conversations may follow one another.
"""

import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Annotated

import msgspec

from assistant.events import Stats, Trace
from assistant.request import ToolCall
from assistant.session.messages import fence_of
from assistant.session.support import Support, check, struck
from assistant.store import values
from assistant.store.values import Attachment, FullConversation, StoredMessage
from models.errors import StorageError

FORMAT = 2  # the number in the first line of a conversation; 1 knew no tool calls
_NEWER = "A newer specchat exported this (format {}). Update specchat."
# JSON does not escape these; unescaped, they could control a terminal that shows the file.
_UNSAFE_IN_TERMINALS = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

# Characters that YAML allows only escaped.
_UNSAFE_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_WHO = {"user": "You", "assistant": "Assistant", "system": "System", "tool": "Tool"}
_Time = Annotated[float, msgspec.Meta(ge=0, lt=values.END_OF_DATES)]
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
    role: values.Role
    content: str
    created: _Time
    state: values.State
    parent: int | None = None
    model: str = ""
    stop: str | None = None
    token_ids: tuple[_TokenId, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    stats: Stats | None = None
    thought: str = ""
    tool_calls: tuple[ToolCall, ...] = msgspec.field(name="calls", default=())
    seconds: float = 0.0
    steps: Trace = ()


class _Kind(msgspec.Struct):
    specchat: int | None = None  # only the first line of a conversation has it


def json_lines(whole: FullConversation) -> Iterator[str]:
    """Yield the JSON lines of a conversation."""
    yield _json(_Head(FORMAT, *(getattr(whole, name) for name in _Head.__struct_fields__[1:])))
    for message in whole.messages:
        fields = {name: getattr(message, name) for name in _Line.__struct_fields__[:-1]}
        yield _json(_Line(**fields, steps=whole.traces.get(message.id, ())))


def read_json_lines(text: Iterable[str | bytes]) -> Iterator[FullConversation]:
    """Yield the conversations in an export; StorageError has the number of a damaged line."""
    head: _Head | None = None
    lines: list[_Line] = []
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        try:
            if (version := msgspec.json.decode(line, type=_Kind).specchat) is not None:
                if head:
                    yield _whole(head, lines)
                if version > FORMAT:
                    raise StorageError(_NEWER.format(version))
                head, lines = msgspec.json.decode(line, type=_Head), []
            elif head is None:
                raise ValueError("it belongs to no conversation")
            else:
                lines.append(msgspec.json.decode(line, type=_Line))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise StorageError(f"line {number} is not from a specchat export: {error}.") from error
    if head:
        yield _whole(head, lines)


def _whole(head: _Head, lines: list[_Line]) -> FullConversation:
    fields = {name: getattr(head, name) for name in _Head.__struct_fields__[1:]}
    traces = {line.id: line.steps for line in lines}
    for line in lines:
        if line.state == "streaming":  # it was exported before it ended
            line.state, line.stop = "failed", values.INTERRUPTED
    columns = _Line.__struct_fields__[:-1]
    messages = (StoredMessage(**{name: getattr(line, name) for name in columns}) for line in lines)
    return FullConversation(**fields, messages=tuple(messages), traces=traces)


def _json(value: msgspec.Struct) -> str:
    text = msgspec.json.encode(value).decode()
    return _UNSAFE_IN_TERMINALS.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def write_new(path: Path, texts: Iterable[str]) -> None:
    """Write a private file, whole or not at all; FileExistsError if there is one."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
                file.writelines(texts)
        except BaseException:  # an interrupt, too
            path.unlink(missing_ok=True)
            raise
    except FileExistsError:
        raise
    except OSError as error:
        why = f"{path} cannot be written: {error.strerror}. Choose another place."
        raise StorageError(why) from error


def write_into(folder: Path, whole: FullConversation) -> Path:
    """Write a conversation as Markdown into a new file named after its title; return its path."""
    title = unicodedata.normalize("NFC", whole.title)  # a combining mark is part of a letter
    words = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in title).split()
    stem = "-".join(words)[:60].lower() or "conversation"
    for number in count(1):
        path = folder / (f"{stem}.md" if number == 1 else f"{stem}-{number}.md")
        with suppress(FileExistsError):
            write_new(path, [markdown(whole)])
            break
    return path


def markdown(whole: FullConversation) -> str:
    """Return the selected branch of a conversation as a Markdown document."""
    path = _branch(whole)
    models = dict.fromkeys(message.model for message in path if message.model)
    front = {
        "title": whole.title,
        "date": datetime.fromtimestamp(whole.created, UTC).isoformat(timespec="seconds"),
        "model": ", ".join(models),
    }
    parts = ["\n".join(["---", *(f"{name}: {_quote(front[name])}" for name in front), "---"])]
    if whole.system:
        parts += ["## System", _with_closed_fence(whole.system)]
    parts += [part for message in path for part in _message_parts(message, check(message, path))]
    return "\n\n".join(parts) + "\n"


def _branch(whole: FullConversation) -> list[StoredMessage]:
    messages = {message.id: message for message in whole.messages}
    path, id_ = [], whole.leaf
    while id_ is not None and id_ in messages:
        path.append(messages.pop(id_))
        id_ = path[-1].parent
    return path[::-1]


def _quote(text: str) -> str:
    # Apart from these characters, a JSON string is a YAML string.
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNSAFE_IN_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _message_parts(message: StoredMessage, support: Support) -> Iterator[str]:
    yield f"## {_WHO[message.role]}"
    attached = [*map(_attachment, message.attachments)]
    if message.role == "user":
        yield from attached
    if message.thought:
        yield "\n".join(f"> {line}".rstrip() for line in message.thought.strip().splitlines())
    if message.role == "tool":
        name = message.tool_calls[0].name if message.tool_calls else "result"
        returned = _attachment(Attachment(name, message.content))
        yield returned if message.content else returned.partition("\n")[0]
    else:
        if message.content or not message.tool_calls:
            yield _with_closed_fence(struck(message.content, support.wrong))
        for call in message.tool_calls:
            yield _attachment(Attachment(f"{call.name} is called", call.arguments))
    if message.role == "assistant":
        yield from attached  # the passages that it cites
        yield from (f"*{warning}*" for warning in support.warnings)
    if message.state in ("stopped", "failed"):
        mark = message.stop or message.state
        yield f"*({values.MARKS.get(mark, mark) if message.role == 'assistant' else mark})*"


def _with_closed_fence(text: str) -> str:
    """Return a text with its last fence closed, so that no heading after it is code."""
    from markdown_it import MarkdownIt  # only for exports

    *_, last = MarkdownIt().parse(f"{text}\n\n# end")
    return f"{text}\n{last.markup}" if last.type == "fence" else text


def _attachment(attachment: Attachment) -> str:
    fence = fence_of(attachment.text)
    name = " ".join(attachment.title.split()).replace("`", "'")
    if (attachment.number or attachment.is_folder) and not attachment.text:
        return f"`{name}`"
    text = attachment.text.removesuffix("\n")
    return f"`{name}`\n\n{fence}\n{text}\n{fence}"
