"""The branches of a conversation; every function runs in the caller's transaction."""

import sqlite3
from dataclasses import replace

from assistant.store.messages import conversation_of, path_to, record, set_leaf
from assistant.store.transfer import conversation_from, insert_conversation, whole
from assistant.store.values import Record

# A message and its descendants, without hidden ones.
_DESCENDANTS = """WITH RECURSIVE down (id) AS (
    SELECT id FROM message WHERE id = ? AND hidden IS NULL
    UNION ALL SELECT m.id FROM message m JOIN down ON m.parent = down.id
    WHERE m.hidden IS NULL AND m.id > down.id)"""

# Finds a row if the leaf of a conversation is hidden.
_LEAF_IS_HIDDEN = """SELECT 1 FROM conversation c JOIN message m ON m.id = leaf
    WHERE c.id = ? AND hidden IS NOT NULL"""


def choose(sql: sqlite3.Connection, message: int) -> None:
    """Switch a conversation to the newest branch through a message."""
    # A message has a higher id than its parent, so the highest id is a leaf.
    leaf = sql.execute(f"{_DESCENDANTS} SELECT max(id) FROM down", (message,)).fetchone()[0]
    set_leaf(sql, conversation_of(sql, message), leaf or message)


def drop(sql: sqlite3.Connection, message: int) -> None:
    """Hide a message and its descendants; if the leaf is among them, switch to a sibling."""
    dropped, conversation = record(sql, message), conversation_of(sql, message)
    sql.execute(
        f"{_DESCENDANTS} UPDATE message SET hidden = ? WHERE id IN (SELECT id FROM down)",
        (message, message),
    )
    if sql.execute(_LEAF_IS_HIDDEN, (conversation,)).fetchone():
        _leave(sql, conversation, dropped)


def restore(sql: sqlite3.Connection, message: int) -> None:
    """Undo `drop`; below an ancestor that is hidden too, the messages stay hidden."""
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
    """Copy the path to a message into a new conversation, and return its id."""
    source = whole(sql, conversation_of(sql, message))
    path = [
        replace(each, state="stopped") if each.state == "streaming" else each
        for each in path_to(sql, message)
    ]
    return insert_conversation(
        sql, conversation_from(path, source.title, source.named, source.system, source.traces)
    )


def _leave(sql: sqlite3.Connection, conversation: int, dropped: Record) -> None:
    """Switch to the nearest sibling of a dropped message, or to its parent if it has none."""
    others = [id_ for id_ in dropped.siblings if id_ != dropped.id]
    earlier = [id_ for id_ in others if id_ < dropped.id]
    if others:
        choose(sql, (earlier or others)[-1 if earlier else 0])
    else:
        set_leaf(sql, conversation, dropped.parent)
