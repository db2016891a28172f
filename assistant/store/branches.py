"""The tree of a conversation: branches chosen, hidden, shown again, continued elsewhere.

All of it happens in a transaction of the caller's.
"""

import sqlite3
import time
from dataclasses import replace

from assistant.store.messages import conversation_of, insert, path_to, record, stand_at
from assistant.store.values import Record

# A message and all that follows it, as far as it can be seen.
_DOWN = """WITH RECURSIVE down (id) AS (
    SELECT id FROM message WHERE id = ? AND hidden IS NULL
    UNION ALL SELECT m.id FROM message m JOIN down ON m.parent = down.id
    WHERE m.hidden IS NULL AND m.id > down.id)"""

# Whether a conversation is at a message that cannot be seen.
_ASTRAY = """SELECT 1 FROM conversation c JOIN message m ON m.id = leaf
    WHERE c.id = ? AND hidden IS NOT NULL"""


def choose(sql: sqlite3.Connection, message: int) -> None:
    """Make the newest branch through a message the one that its conversation is on."""
    # Whatever follows a message has a higher number, so nothing follows the highest.
    leaf = sql.execute(f"{_DOWN} SELECT max(id) FROM down", (message,)).fetchone()[0]
    stand_at(sql, conversation_of(sql, message), leaf or message)


def drop(sql: sqlite3.Connection, message: int) -> None:
    """Hide a message and all that follows it, and go to what is next to it if need be."""
    dropped, conversation = record(sql, message), conversation_of(sql, message)
    sql.execute(
        f"{_DOWN} UPDATE message SET hidden = ? WHERE id IN (SELECT id FROM down)",
        (message, message),
    )
    if sql.execute(_ASTRAY, (conversation,)).fetchone():
        _leave(sql, conversation, dropped)


def restore(sql: sqlite3.Connection, message: int) -> None:
    """Show again what dropping a message hid; below something hidden since, it stays hidden."""
    conversation_of(sql, message)
    above = sql.execute(
        "SELECT hidden FROM message WHERE id = (SELECT parent FROM message WHERE id = ?)",
        (message,),
    ).fetchone()
    hidden = above["hidden"] if above else None
    sql.execute("UPDATE message SET hidden = ? WHERE hidden = ?", (hidden, message))
    if hidden is None:
        choose(sql, message)


def fork(sql: sqlite3.Connection, message: int) -> int:
    """Make a conversation of the path to a message, and return its number."""
    made = sql.execute(
        "INSERT INTO conversation (title, named, system, created, updated) "
        "SELECT title, named, system, ?1, ?1 FROM conversation WHERE id = ?2",
        (time.time(), conversation_of(sql, message)),
    )
    conversation, parent = made.lastrowid or 0, None
    for each in path_to(sql, message):
        parent = _copy(sql, conversation, parent, each)
    stand_at(sql, conversation, parent)
    return conversation


def _leave(sql: sqlite3.Connection, conversation: int, dropped: Record) -> None:
    """Go to what is next to a dropped message, else to what it followed."""
    others = [id_ for id_ in dropped.siblings if id_ != dropped.id]
    earlier = [id_ for id_ in others if id_ < dropped.id]
    if others:
        choose(sql, (earlier or others)[-1 if earlier else 0])
    else:
        stand_at(sql, conversation, dropped.parent)


def _copy(sql: sqlite3.Connection, conversation: int, parent: int | None, source: Record) -> int:
    state = "stopped" if source.state == "streaming" else source.state
    copy = insert(sql, conversation, replace(source, parent=parent, state=state), None)
    sql.execute(
        "INSERT INTO trace SELECT ?, part, packed FROM trace WHERE message = ?", (copy, source.id)
    )
    return copy
