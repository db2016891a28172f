"""Rows of messages as records, and their columns as bytes."""

import sqlite3
import struct
import zlib
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from assistant.events import Stats
from assistant.store.values import Attachment, Record
from models.errors import StorageError

_COLUMNS = (
    "id, parent, role, content, created, state, token_ids, attachments, stop, stats, model, "
    "conversation"
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


def show_again(sql: sqlite3.Connection, message: int) -> None:
    """Bring a message and those before it back to sight, if they were hidden."""
    sql.execute(
        f"{_UP} UPDATE message SET hidden = NULL "
        "WHERE hidden IS NOT NULL AND id IN (SELECT id FROM up)",
        (message,),
    )


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
    )


def pack_ids(ids: Sequence[int]) -> bytes:
    """Return token ids as bytes."""
    return struct.pack(f"<{len(ids)}i", *ids)


def unpack_ids(packed: bytes | None) -> tuple[int, ...]:
    """Return the token ids that were packed; damaged ones only cost a second reading."""
    return struct.unpack(f"<{len(packed) // 4}i", packed) if packed and len(packed) % 4 == 0 else ()


def pack_stats(stats: Stats | None) -> bytes | None:
    """Return figures as bytes."""
    return None if stats is None else msgspec.msgpack.encode(stats)


def unpack_stats(packed: bytes | None) -> Stats | None:
    """Return the figures that were packed, as far as this version knows them."""
    with suppress(msgspec.MsgspecError):  # of a later version, or damaged
        return None if packed is None else msgspec.msgpack.decode(packed, type=Stats)
    return None


def pack_attachments(attachments: Sequence[Attachment]) -> bytes | None:
    """Return attached texts as bytes."""
    if not attachments:
        return None
    return zlib.compress(msgspec.msgpack.encode(tuple(attachments)), 3)


def unpack_attachments(packed: bytes | None) -> tuple[Attachment, ...]:
    """Return the attached texts that were packed."""
    if packed is None:
        return ()
    try:
        return msgspec.msgpack.decode(zlib.decompress(packed), type=tuple[Attachment, ...])
    except (zlib.error, msgspec.MsgspecError):
        return (Attachment("damaged", "What was attached here was stored, but is damaged."),)
