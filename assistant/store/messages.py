"""Messages in the database, and the encodings of their columns.

Every function that has a connection runs in the caller's transaction.
"""

import sqlite3
import struct
import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

import msgspec

from assistant.events import Stats, Trace
from assistant.request import ToolCall
from assistant.store.values import Attachment, StoredMessage, moment, title_from
from models.errors import StorageError, well_formed

_LEVEL = 3  # of zlib: 6 takes 3.6 times as long and saves 6 % (a synthetic trace of 400 tokens)


def pack_trace(steps: Trace) -> bytes:
    """Encode a trace: about 160 bytes for a token with eight alternatives."""
    return zlib.compress(msgspec.msgpack.encode(steps), _LEVEL)


def unpack_trace(packed: bytes) -> Trace:
    """Decode a trace; StorageError if it is damaged."""
    try:
        return msgspec.msgpack.decode(zlib.decompress(packed), type=Trace)
    except (zlib.error, msgspec.MsgspecError, ValueError) as error:
        raise StorageError("This answer's stored tokens are damaged; its text is not.") from error


def pack_calls(tool_calls: Sequence[ToolCall]) -> str:
    """Encode tool calls as JSON; the text is empty if there are none."""
    if not tool_calls:
        return ""
    texts = (map(well_formed, (call.name, call.arguments, call.id)) for call in tool_calls)
    return msgspec.json.encode([ToolCall(*text) for text in texts]).decode()


def pack_attachments(attachments: Sequence[Attachment]) -> bytes | None:
    """Encode attachments; None if there are none."""
    if not attachments:
        return None
    texts = [
        replace(attachment, name=well_formed(attachment.name), text=well_formed(attachment.text))
        for attachment in attachments
    ]
    return zlib.compress(msgspec.msgpack.encode(texts), _LEVEL)


def _unpacking(
    decode: Callable[[Any], Any], empty: Any, damaged: Any = None
) -> Callable[[Any], Any]:
    """Return how a column is decoded; a damaged one becomes `damaged`, or else `empty`."""

    def unpack(packed: Any) -> Any:
        with suppress(struct.error, zlib.error, msgspec.MsgspecError, ValueError, TypeError):
            return decode(packed) if packed else empty
        return damaged or empty

    return unpack


_RENAMED = {"tool_calls": "calls"}  # fields whose columns are called otherwise
_COLUMNS = {
    field.name: _RENAMED.get(field.name, field.name)
    for field in fields(StoredMessage)
    if field.name not in ("id", "siblings")
}
"""The columns of a message by the fields of a `StoredMessage`."""
# Conversions to and from columns; values without one are stored as they are.
_AS_IT_IS = dict.fromkeys(_COLUMNS, lambda value: value)
PACK: dict[str, Callable[[Any], Any]] = _AS_IT_IS | {
    "content": well_formed, "thought": well_formed, "model": well_formed,
    "token_ids": lambda ids: struct.pack(f"<{len(ids)}i", *ids), "attachments": pack_attachments,
    "stats": lambda stats: stats and msgspec.msgpack.encode(stats), "tool_calls": pack_calls,
}  # fmt: skip
UNPACK: dict[str, Callable[[Any], Any]] = _AS_IT_IS | {
    "created": moment,
    "token_ids": _unpacking(lambda ids: struct.unpack(f"<{len(ids) // 4}i", ids), ()),
    "attachments": _unpacking(
        lambda files: msgspec.msgpack.decode(zlib.decompress(files), type=tuple[Attachment, ...]),
        (), (Attachment("damaged", "The files stored with this message are damaged."),),
    ),
    "stats": _unpacking(lambda stats: msgspec.msgpack.decode(stats, type=Stats), None),
    "tool_calls": _unpacking(lambda text: msgspec.json.decode(text, type=tuple[ToolCall, ...]), ()),
}  # fmt: skip
_SELECT = f"SELECT id, conversation, {', '.join(_COLUMNS.values())} FROM message"
_INSERT = f"""INSERT INTO message (conversation, {", ".join(_COLUMNS.values())})
    VALUES (?{", ?" * len(_COLUMNS)})"""
# The time; if most conversations began later, the clock is wrong, and it is after all of them.
_TIME = """SELECT CASE WHEN 2 * sum(created > ?1) > count(*) THEN max(updated) + 1e-3 ELSE ?1 END
    FROM conversation"""
_DATE = "UPDATE conversation SET updated = ?2 - (id <> ?1) * 1e-3 WHERE id = ?1 OR updated > ?2"
# The ancestors of a message. In a damaged file, parents may form a cycle; ids must decrease.
_ANCESTORS = """WITH RECURSIVE up (id, parent, depth) AS (
    SELECT id, parent, 0 FROM message WHERE id = ?
    UNION ALL SELECT m.id, m.parent, depth + 1 FROM message m JOIN up ON m.id = up.parent
    WHERE m.id < up.id)"""


def record(sql: sqlite3.Connection, message: int) -> StoredMessage:
    """Return a message."""
    return _records(sql, [required_row(sql, f"{_SELECT} WHERE id = ?", "message", message)])[0]


def path(sql: sqlite3.Connection, conversation: int) -> tuple[StoredMessage, ...]:
    """Return the messages from the root of a conversation to its leaf."""
    query = "SELECT leaf FROM conversation WHERE id = ?"
    return path_to(sql, required_row(sql, query, "conversation", conversation)["leaf"])


def path_to(sql: sqlite3.Connection, message: int) -> tuple[StoredMessage, ...]:
    """Return the messages from the root of a conversation to a message."""
    up = "JOIN (SELECT id, depth FROM up) USING (id) ORDER BY depth DESC"
    return _records(sql, sql.execute(f"{_ANCESTORS} {_SELECT} {up}", (message,)).fetchall())


def tree(sql: sqlite3.Connection, conversation: int) -> tuple[StoredMessage, ...]:
    """Return the messages of all branches of a conversation, each after its parent."""
    query = f"{_SELECT} WHERE conversation = ? AND hidden IS NULL ORDER BY id"
    return _records(sql, sql.execute(query, (conversation,)).fetchall())


def conversation_of(sql: sqlite3.Connection, message: int) -> int:
    """Return the id of the conversation that a message belongs to."""
    query = "SELECT conversation FROM message WHERE id = ?"
    return int(required_row(sql, query, "message", message)["conversation"])


def required_row(sql: sqlite3.Connection, query: str, what: str, id_: int) -> sqlite3.Row:
    """Return the row of a conversation or message; StorageError if there is none."""
    row: sqlite3.Row | None = sql.execute(query, (id_,)).fetchone()
    if row is None:
        raise not_found(what, id_)
    return row


def not_found(what: str, id_: int) -> StorageError:
    """Return the error for an unknown conversation or message."""
    return StorageError(f"There is no {what} {id_}; it may have been deleted for good.")


def _records(sql: sqlite3.Connection, rows: list[sqlite3.Row]) -> tuple[StoredMessage, ...]:
    siblings: defaultdict[int | None, list[int]] = defaultdict(list)
    for parent, id_ in sql.execute(
        "SELECT parent, id FROM message WHERE conversation = ? AND hidden IS NULL ORDER BY id",
        (rows[0]["conversation"] if rows else None,),
    ):
        siblings[parent].append(id_)
    return tuple(
        StoredMessage(
            row["id"],
            siblings=tuple(siblings[row["parent"]]),
            **{name: UNPACK[name](row[key]) for name, key in _COLUMNS.items()},
        )
        for row in rows
    )


def insert(sql: sqlite3.Connection, conversation: int, record: StoredMessage) -> int:
    """Add a message to a conversation, and return its id; those in the record are ignored."""
    values = [PACK[name](getattr(record, name)) for name in _COLUMNS]
    return sql.execute(_INSERT, (conversation, *values)).lastrowid or 0


def change(sql: sqlite3.Connection, message: int, **values: Any) -> StoredMessage:
    """Set fields of a message, by name, and return the message."""
    packed = [PACK[name](value) for name, value in values.items()]
    names = ", ".join(f"{_COLUMNS[name]} = ?" for name in values)
    sql.execute(f"UPDATE message SET {names} WHERE id = ?", (*packed, message))
    return record(sql, message)


def append(sql: sqlite3.Connection, conversation: int, new: StoredMessage) -> StoredMessage:
    """Add a message, make it the leaf of its conversation, and return it."""
    if new.parent is not None and conversation_of(sql, new.parent) != conversation:
        raise StorageError(f"Message {new.parent} belongs to another conversation.")
    title = title_from(well_formed(new.content)) if new.role == "user" else ""
    # A message brings back a conversation that another program has deleted meanwhile.
    back = "deleted = NULL, title = coalesce(nullif(title, ''), ?) WHERE id = ?"
    if sql.execute(f"UPDATE conversation SET {back}", (title, conversation)).rowcount == 0:
        raise not_found("conversation", conversation)
    set_date(sql, conversation, new.created)
    id_ = insert(sql, conversation, new)
    # Its ancestors may have been hidden meanwhile: show them again.
    show = "UPDATE message SET hidden = NULL WHERE hidden IS NOT NULL AND id IN (SELECT id FROM up)"
    sql.execute(f"{_ANCESTORS} {show}", (id_,))
    set_leaf(sql, conversation, id_)
    return record(sql, id_)


def set_date(sql: sqlite3.Connection, conversation: int, now: float) -> None:
    """Date a conversation, and just before it those that a wrong clock has dated later."""
    sql.execute(_DATE, (conversation, *sql.execute(_TIME, (now,)).fetchone()))


def set_leaf(sql: sqlite3.Connection, conversation: int, leaf: int | None) -> None:
    """Set the message at which a conversation stands."""
    sql.execute("UPDATE conversation SET leaf = ? WHERE id = ?", (leaf, conversation))


def trace(sql: sqlite3.Connection, answer: int) -> Trace:
    """Return the trace of an answer; it is empty if the answer was imported without one."""
    parts = sql.execute("SELECT packed FROM trace WHERE message = ? ORDER BY part", (answer,))
    return tuple(step for (packed,) in parts for step in unpack_trace(packed))


def store_trace(sql: sqlite3.Connection, message: int, steps: Trace, appends: bool) -> None:
    """Store steps of a trace: append them, or replace what is stored."""
    if not appends:
        sql.execute("DELETE FROM trace WHERE message = ?", (message,))
    if steps:
        part = "SELECT ?1, coalesce(max(part), -1) + 1, ?2 FROM trace WHERE message = ?1"
        sql.execute(f"INSERT INTO trace {part}", (message, pack_trace(steps)))
