"""New messages, and what they change in their conversation."""

import sqlite3

from assistant.store.database import storable
from assistant.store.rows import (
    conversation_of,
    gone,
    pack_attachments,
    pack_ids,
    pack_stats,
    show_again,
)
from assistant.store.titles import derive
from assistant.store.trace_packing import pack_trace
from assistant.store.values import Attachment, Record
from assistant.tokens import Trace
from models.errors import StorageError


def insert(sql: sqlite3.Connection, conversation: int, record: Record, owner: str | None) -> int:
    """Add a message to a conversation, whatever the id and the siblings in the record."""
    texts = tuple(
        Attachment(storable(each.name), storable(each.text)) for each in record.attachments
    )
    made = sql.execute(
        "INSERT INTO message (conversation, parent, role, content, created, state, owner, "
        "token_ids, attachments, stop, stats, model) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            conversation,
            record.parent,
            record.role,
            storable(record.content),
            record.created,
            record.state,
            owner,
            pack_ids(record.token_ids),
            pack_attachments(texts),
            record.stop,
            pack_stats(record.stats),
            storable(record.model),
        ),
    )
    return made.lastrowid or 0


def append(sql: sqlite3.Connection, conversation: int, record: Record, owner: str | None) -> int:
    """Add a message and make it the one where the conversation is now."""
    if record.parent is not None and conversation_of(sql, record.parent) != conversation:
        raise StorageError(f"Message {record.parent} is of another conversation.")
    title = derive(storable(record.content)) if record.role == "user" else ""
    # Also when another instance deleted it meanwhile: what was sent shall be found again.
    known = sql.execute(
        "UPDATE conversation SET deleted = NULL, updated = ?, "
        "title = CASE WHEN title = '' THEN ? ELSE title END WHERE id = ?",
        (record.created, title, conversation),
    )
    if known.rowcount == 0:
        raise gone("conversation", conversation)
    id_ = insert(sql, conversation, record, owner)
    show_again(sql, id_)
    stand_at(sql, conversation, id_)
    return id_


def stand_at(sql: sqlite3.Connection, conversation: int, leaf: int | None) -> None:
    """Note where a conversation is now."""
    sql.execute("UPDATE conversation SET leaf = ? WHERE id = ?", (leaf, conversation))


def keep_trace(sql: sqlite3.Connection, message: int, steps: Trace, more: bool) -> None:
    """Keep how an answer came about; `more` of it adds to what is kept."""
    if not more:
        sql.execute("DELETE FROM trace WHERE message = ?", (message,))
    if steps:
        sql.execute(
            "INSERT INTO trace SELECT ?1, coalesce(max(part), -1) + 1, ?2 FROM trace "
            "WHERE message = ?1",
            (message, pack_trace(steps)),
        )
