"""Messages in the database: read as records, added, and where their conversation is now.

All of it happens in a transaction of the caller's.
"""

import sqlite3
from collections import defaultdict

from assistant.store.database import storable
from assistant.store.packing import (
    pack_attachments,
    pack_calls,
    pack_ids,
    pack_stats,
    pack_trace,
    unpack_attachments,
    unpack_calls,
    unpack_ids,
    unpack_stats,
)
from assistant.store.values import Attachment, Record, derive
from assistant.tokens import Trace
from models.errors import StorageError

_COLUMNS = (
    "id, parent, role, content, created, state, token_ids, attachments, stop, stats, model, "
    "thought, calls, seconds, conversation"
)
# Along the parents from a message to the start; those of a damaged file need not have one.
_UP = """WITH RECURSIVE up (id, parent, depth) AS (
    SELECT id, parent, 0 FROM message WHERE id = ?
    UNION ALL SELECT m.id, m.parent, depth + 1 FROM message m JOIN up ON m.id = up.parent
    WHERE m.id < up.id)"""


def record(sql: sqlite3.Connection, message: int) -> Record:
    """Return a message."""
    row = sql.execute(f"SELECT {_COLUMNS} FROM message WHERE id = ?", (message,)).fetchone()
    if row is None:
        raise gone("message", message)
    found = sql.execute(
        "SELECT id FROM message WHERE conversation = ? AND parent IS ? AND hidden IS NULL "
        "ORDER BY id",
        (row["conversation"], row["parent"]),
    )
    return _record(row, tuple(id_ for (id_,) in found))


def path(sql: sqlite3.Connection, conversation: int) -> tuple[Record, ...]:
    """Return the messages from the start of a conversation to where it is now."""
    row = sql.execute("SELECT leaf FROM conversation WHERE id = ?", (conversation,)).fetchone()
    if row is None:
        raise gone("conversation", conversation)
    return path_to(sql, row["leaf"])


def path_to(sql: sqlite3.Connection, message: int) -> tuple[Record, ...]:
    """Return the messages from the start of a conversation to one of it."""
    rows = sql.execute(
        f"{_UP} SELECT {_COLUMNS} FROM message JOIN (SELECT id, depth FROM up) USING (id) "
        "ORDER BY depth DESC",
        (message,),
    ).fetchall()
    return _records(sql, rows)


def tree(sql: sqlite3.Connection, conversation: int) -> tuple[Record, ...]:
    """Return every message of a conversation on any branch, each after its parent."""
    rows = sql.execute(
        f"SELECT {_COLUMNS} FROM message WHERE conversation = ? AND hidden IS NULL ORDER BY id",
        (conversation,),
    ).fetchall()
    return _records(sql, rows)


def conversation_of(sql: sqlite3.Connection, message: int) -> int:
    """Return which conversation a message belongs to."""
    row = sql.execute("SELECT conversation FROM message WHERE id = ?", (message,)).fetchone()
    if row is None:
        raise gone("message", message)
    return int(row[0])


def gone(what: str, id_: int) -> StorageError:
    """Return the error for something that is not there, or not any more."""
    return StorageError(f"There is no {what} {id_}; it may have been deleted for good.")


def _records(sql: sqlite3.Connection, rows: list[sqlite3.Row]) -> tuple[Record, ...]:
    if not rows:
        return ()
    siblings: defaultdict[int | None, list[int]] = defaultdict(list)
    for parent, id_ in sql.execute(
        "SELECT parent, id FROM message WHERE conversation = ? AND hidden IS NULL ORDER BY id",
        (rows[0]["conversation"],),
    ):
        siblings[parent].append(id_)
    return tuple(_record(row, tuple(siblings[row["parent"]])) for row in rows)


def _record(row: sqlite3.Row, siblings: tuple[int, ...]) -> Record:
    return Record(
        row["id"],
        row["parent"],
        row["role"],
        row["content"],
        row["created"],
        row["state"],
        unpack_ids(row["token_ids"]),
        unpack_attachments(row["attachments"]),
        row["stop"],
        unpack_stats(row["stats"]),
        row["model"],
        siblings,
        row["thought"],
        unpack_calls(row["calls"]),
        row["seconds"],
    )


def insert(sql: sqlite3.Connection, conversation: int, record: Record, owner: str | None) -> int:
    """Add a message to a conversation, whatever the id and the siblings in the record."""
    texts = tuple(
        Attachment(storable(each.name), storable(each.text)) for each in record.attachments
    )
    made = sql.execute(
        "INSERT INTO message (conversation, parent, role, content, created, state, owner, "
        "token_ids, attachments, stop, stats, model, thought, calls, seconds) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
            storable(record.thought),
            pack_calls(record.calls),
            record.seconds,
        ),
    )
    return made.lastrowid or 0


def append(sql: sqlite3.Connection, conversation: int, new: Record, owner: str | None) -> Record:
    """Add a message and make it the one where the conversation is now."""
    if new.parent is not None and conversation_of(sql, new.parent) != conversation:
        raise StorageError(f"Message {new.parent} belongs to another conversation.")
    title = derive(storable(new.content)) if new.role == "user" else ""
    # Also when another instance deleted it meanwhile: what was sent shall be found again.
    known = sql.execute(
        "UPDATE conversation SET deleted = NULL, updated = ?, "
        "title = CASE WHEN title = '' THEN ? ELSE title END WHERE id = ?",
        (new.created, title, conversation),
    )
    if known.rowcount == 0:
        raise gone("conversation", conversation)
    id_ = insert(sql, conversation, new, owner)
    # What it follows is seen again, if it was hidden.
    sql.execute(
        f"{_UP} UPDATE message SET hidden = NULL "
        "WHERE hidden IS NOT NULL AND id IN (SELECT id FROM up)",
        (id_,),
    )
    stand_at(sql, conversation, id_)
    return record(sql, id_)


def stand_at(sql: sqlite3.Connection, conversation: int, leaf: int | None) -> None:
    """Note where a conversation is now."""
    sql.execute("UPDATE conversation SET leaf = ? WHERE id = ?", (leaf, conversation))


def keep_trace(sql: sqlite3.Connection, message: int, steps: Trace, more: bool) -> None:
    """Keep how an answer was decoded; `more` of it adds to what is kept."""
    if not more:
        sql.execute("DELETE FROM trace WHERE message = ?", (message,))
    if steps:
        sql.execute(
            "INSERT INTO trace SELECT ?1, coalesce(max(part), -1) + 1, ?2 FROM trace "
            "WHERE message = ?1",
            (message, pack_trace(steps)),
        )
