"""Reading and adding whole conversations, with all branches."""

import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from assistant.store.messages import insert, keep_trace, not_found, set_leaf, tree
from assistant.store.packing import unpack_trace
from assistant.store.values import FullConversation, Imported, Record
from assistant.tokens import Trace
from models.errors import StorageError, well_formed

_ROW = "SELECT title, named, system, created, updated, pinned, leaf FROM conversation WHERE id = ?"
_INSERT = """INSERT INTO conversation (title, named, system, created, updated, pinned)
    VALUES (?, ?, ?, ?, ?, ?)"""
_TRACES = """SELECT message, packed FROM trace JOIN message ON message.id = message
    WHERE conversation = ? AND hidden IS NULL ORDER BY message, part"""


def whole(sql: sqlite3.Connection, conversation: int) -> FullConversation:
    """Return a conversation with all of its branches."""
    row = sql.execute(_ROW, (conversation,)).fetchone()
    if row is None:
        raise not_found("conversation", conversation)
    messages, packed = tree(sql, conversation), sql.execute(_TRACES, (conversation,))
    traces: dict[int, Trace] = {}
    for id_, parts in groupby(packed, itemgetter("message")):
        with suppress(StorageError):  # a damaged trace is left out; its text is not
            traces[id_] = tuple(step for part in parts for step in unpack_trace(part["packed"]))
    title, named, system, created, updated, pinned, leaf = row
    return FullConversation(
        title, bool(named), system, created, updated, bool(pinned), leaf, messages, traces
    )


def conversation_from(
    path: Sequence[Record], title: str, named: bool, system: str, traces: Mapping[int, Trace]
) -> FullConversation:
    """Return a conversation with one branch, created now; each message follows the one before."""
    ids, now = [None, *(each.id for each in path)], time.time()
    messages = tuple(replace(each, parent=ids[place]) for place, each in enumerate(path))
    return FullConversation(title, named, system, now, now, False, ids[-1], messages, traces)


def take_in(sql: sqlite3.Connection, wholes: Sequence[FullConversation]) -> tuple[Imported, ...]:
    """Add the conversations that are not stored yet; it fails as `insert_conversation` does."""
    known: defaultdict[float, list[int]] = defaultdict(list)
    for id_, created in sql.execute("SELECT id, created FROM conversation WHERE deleted IS NULL"):
        known[created].append(id_)
    taken = []
    for whole in wholes:
        alike = (id_ for id_ in known[whole.created] if _has_all_of(sql, id_, whole))
        number, is_new = next(alike, None), False
        if number is None:
            number, is_new = insert_conversation(sql, whole), True
            known[whole.created].append(number)
        taken.append(Imported(number, is_new))
    return tuple(taken)


def insert_conversation(sql: sqlite3.Connection, whole: FullConversation) -> int:
    """Add a conversation, and return its id.

    Raises:
        OverflowError: a number is too large for a column.
        StorageError: the parent of a message does not come before it.
    """
    texts = well_formed(whole.title), whole.named, well_formed(whole.system)
    row = (*texts, whole.created, whole.updated, whole.pinned)
    conversation = sql.execute(_INSERT, row).lastrowid or 0
    numbers: dict[int | None, int | None] = {None: None}
    for message in whole.messages:
        if message.parent not in numbers:
            raise StorageError(f"Message {message.id} follows {message.parent}, which is missing.")
        here = insert(sql, conversation, replace(message, parent=numbers[message.parent]))
        keep_trace(sql, here, whole.traces.get(message.id, ()), more=False)
        numbers[message.id] = here
    set_leaf(sql, conversation, numbers.get(whole.leaf))
    return conversation


def _has_all_of(sql: sqlite3.Connection, conversation: int, whole: FullConversation) -> bool:
    """Return whether a stored conversation has every message of `whole`."""
    query = "SELECT role, content, created FROM message WHERE conversation = ? AND hidden IS NULL"
    here = Counter(map(tuple, sql.execute(query, (conversation,))))
    there = Counter((each.role, well_formed(each.content), each.created) for each in whole.messages)
    return bool(there) and there <= here
