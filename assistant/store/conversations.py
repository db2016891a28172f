"""Conversations in the database, whole or by branch; functions run in the caller's transaction."""

import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from assistant.events import Trace
from assistant.store import messages
from assistant.store.values import FullConversation, Imported, State, StoredMessage, moment
from models.errors import StorageError, well_formed

_ROW = "SELECT title, named, system, created, updated, pinned, leaf FROM conversation WHERE id = ?"
_INSERT = """INSERT INTO conversation (title, named, system, created, updated, pinned)
    VALUES (?, ?, ?, ?, ?, ?)"""

# A message and its descendants, without hidden ones.
_DESCENDANTS = """WITH RECURSIVE down (id) AS (
    SELECT id FROM message WHERE id = ? AND hidden IS NULL
    UNION ALL SELECT m.id FROM message m JOIN down ON m.parent = down.id
    WHERE m.hidden IS NULL AND m.id > down.id)"""
# Finds a row if the leaf of a conversation is hidden.
_LEAF_IS_HIDDEN = """SELECT 1 FROM conversation c JOIN message m ON m.id = leaf
    WHERE c.id = ? AND hidden IS NOT NULL"""


def whole(sql: sqlite3.Connection, conversation: int) -> FullConversation:
    """Return a conversation with all of its branches."""
    row = messages.required_row(sql, _ROW, "conversation", conversation)
    all_, traces = messages.tree(sql, conversation), dict[int, Trace]()
    for message in all_:
        with suppress(StorageError):  # a damaged trace is left out; its text is not
            traces[message.id] = messages.trace(sql, message.id)
    title, named, system, created, updated, pinned, leaf = row
    dates = moment(created), moment(updated)
    return FullConversation(title, bool(named), system, *dates, bool(pinned), leaf, all_, traces)


def import_conversations(
    sql: sqlite3.Connection, wholes: Sequence[FullConversation]
) -> tuple[Imported, ...]:
    """Add the conversations that are not stored yet; raises what `insert_conversation` raises."""
    known: defaultdict[float, list[int]] = defaultdict(list)
    for id_, created in sql.execute("SELECT id, created FROM conversation WHERE deleted IS NULL"):
        known[created].append(id_)
    imported = []
    for whole in wholes:
        alike = (id_ for id_ in known[whole.created] if _has_all_of(sql, id_, whole))
        number = next(alike, None)
        imported.append(Imported(number or insert_conversation(sql, whole), number is None))
        known[whole.created].append(imported[-1].number)
    return tuple(imported)


def insert_conversation(sql: sqlite3.Connection, whole: FullConversation) -> int:
    """Add a conversation, and return its id; without a leaf, the last message is selected.

    OverflowError if a number is too large; StorageError if the messages form no tree with the leaf.
    """
    texts = well_formed(whole.title), whole.named, well_formed(whole.system)
    row = (*texts, whole.created, whole.updated, whole.pinned)
    conversation = sql.execute(_INSERT, row).lastrowid or 0
    numbers: dict[int | None, int | None] = {None: None}
    for message in whole.messages:
        if message.parent not in numbers:
            raise StorageError(f"Message {message.id} follows {message.parent}, which is missing.")
        if message.id in numbers:
            raise StorageError(f"Two messages of “{whole.title[:60]}” have the id {message.id}.")
        here = messages.insert(sql, conversation, replace(message, parent=numbers[message.parent]))
        messages.store_trace(sql, here, whole.traces.get(message.id, ()), appends=False)
        numbers[message.id] = here
    if whole.leaf not in numbers:
        raise StorageError(f"The leaf of “{whole.title[:60]}”, {whole.leaf}, is missing.")
    leaf = numbers[whole.leaf] if whole.leaf is not None else [*numbers.values()][-1]
    messages.set_leaf(sql, conversation, leaf)
    return conversation


def _has_all_of(sql: sqlite3.Connection, conversation: int, whole: FullConversation) -> bool:
    query = "SELECT role, content, created FROM message WHERE conversation = ? AND hidden IS NULL"
    here = Counter(map(tuple, sql.execute(query, (conversation,))))
    there = Counter((m.role, well_formed(m.content), m.created) for m in whole.messages)
    return bool(there) and there <= here


def choose(sql: sqlite3.Connection, message: int) -> None:
    """Switch a conversation to the newest branch through a message, which is not hidden."""
    # A message has a higher id than its parent: the highest id, if any is shown, is a leaf.
    query = f"{_DESCENDANTS} SELECT id FROM down ORDER BY id DESC LIMIT 1"
    leaf = messages.required_row(sql, query, "message", message)["id"]
    messages.set_leaf(sql, messages.conversation_of(sql, message), leaf)


def drop(sql: sqlite3.Connection, message: int) -> None:
    """Hide a message and its descendants; `Store.close` removes them for good.

    If the leaf is among them, switch to the nearest sibling, or to the parent if there is none.
    """
    dropped, conversation = messages.record(sql, message), messages.conversation_of(sql, message)
    hide = f"{_DESCENDANTS} UPDATE message SET hidden = ? WHERE id IN (SELECT id FROM down)"
    sql.execute(hide, (message, message))
    if sql.execute(_LEAF_IS_HIDDEN, (conversation,)).fetchone():
        earlier = max((id_ for id_ in dropped.siblings if id_ < message), default=None)
        later = min((id_ for id_ in dropped.siblings if id_ > message), default=None)
        if nearest := earlier or later:
            choose(sql, nearest)
        else:
            messages.set_leaf(sql, conversation, dropped.parent)


def restore(sql: sqlite3.Connection, message: int) -> None:
    """Undo `drop`; below an ancestor that is hidden too, the messages stay hidden."""
    query = "SELECT p.hidden FROM message m LEFT JOIN message p ON p.id = m.parent WHERE m.id = ?"
    hidden = messages.required_row(sql, query, "message", message)["hidden"]
    sql.execute("UPDATE message SET hidden = ? WHERE hidden = ?", (hidden, message))
    if hidden is None:
        choose(sql, message)


def fork(sql: sqlite3.Connection, message: int) -> int:
    """Copy the path to a message into a new conversation, and return its id."""
    source, path = whole(sql, messages.conversation_of(sql, message)), list[StoredMessage]()
    for stored in messages.path_to(sql, message):
        state: State = "stopped" if stored.state == "streaming" else stored.state
        # In a damaged file, a parent may not be on the path.
        path.append(replace(stored, state=state, parent=path[-1].id if path else None))
    title = f"Fork: {source.title.removeprefix('Fork: ')}"  # at the start: lists may cut the end
    copy = replace(source, title=title, named=True, pinned=False, leaf=message)
    copy = replace(copy, messages=tuple(path), created=time.time())
    conversation = insert_conversation(sql, copy)
    messages.set_date(sql, conversation, time.time())
    return conversation
