"""Conversations taken out and put in as wholes, with every branch."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from assistant.store.database import Database, storable
from assistant.store.messages import gone, insert, keep_trace, stand_at, tree
from assistant.store.packing import unpack_trace
from assistant.store.values import INTERRUPTED, FullConversation, Record, Taken
from assistant.tokens import Trace
from models.errors import StorageError

_ROW = "SELECT title, named, system, created, updated, pinned, leaf FROM conversation WHERE id = ?"
_TRACES = """SELECT message, packed FROM trace JOIN message ON message.id = message
    WHERE conversation = ? AND hidden IS NULL ORDER BY message, part"""


def whole(database: Database, conversation: int) -> FullConversation:
    """Return a conversation with all of its branches."""
    with database.reading() as sql:
        row = sql.execute(_ROW, (conversation,)).fetchone()
        if row is None:
            raise gone("conversation", conversation)
        messages = tree(sql, conversation)
        packed = sql.execute(_TRACES, (conversation,)).fetchall()
    traces: dict[int, Trace] = {}
    for id_, parts in groupby(packed, itemgetter("message")):
        with suppress(StorageError):  # of a damaged one there is the text
            traces[id_] = tuple(step for part in parts for step in unpack_trace(part["packed"]))
    title, named, system, created, updated, pinned, leaf = row
    return FullConversation(
        title, bool(named), system, created, updated, bool(pinned), leaf, messages, traces
    )


def take_in(sql: sqlite3.Connection, wholes: Sequence[FullConversation]) -> tuple[Taken, ...]:
    """Add conversations that are not here yet.

    Raises:
        OverflowError: a number is too large for a column.
        StorageError: a conversation does not hang together.
    """
    known: defaultdict[float, list[int]] = defaultdict(list)
    for id_, created in sql.execute("SELECT id, created FROM conversation WHERE deleted IS NULL"):
        known[created].append(id_)
    taken = []
    for whole in wholes:
        alike = (id_ for id_ in known[whole.created] if _holds(sql, id_, whole))
        number, is_new = next(alike, None), False
        if number is None:
            number, is_new = _adopt(sql, whole), True
            known[whole.created].append(number)
        taken.append(Taken(number, is_new))
    return tuple(taken)


def _adopt(sql: sqlite3.Connection, whole: FullConversation) -> int:
    row = (
        storable(whole.title),
        whole.named,
        storable(whole.system),
        whole.created,
        whole.updated,
        whole.pinned,
    )
    numbers: dict[int | None, int | None] = {None: None}
    made = sql.execute(
        "INSERT INTO conversation (title, named, system, created, updated, pinned) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        row,
    )
    conversation = made.lastrowid or 0
    for message in whole.messages:
        here = insert(sql, conversation, _moved(message, numbers), None)
        keep_trace(sql, here, whole.traces.get(message.id, ()), more=False)
        numbers[message.id] = here
    stand_at(sql, conversation, numbers.get(whole.leaf))
    return conversation


def _holds(sql: sqlite3.Connection, conversation: int, whole: FullConversation) -> bool:
    """Say whether a conversation that began at the same moment has every message of another."""
    if not whole.messages:
        return False
    here = Counter(
        (row["role"], row["content"], row["created"])
        for row in sql.execute(
            "SELECT role, content, created FROM message WHERE conversation = ? AND hidden IS NULL",
            (conversation,),
        )
    )
    there = Counter((each.role, storable(each.content), each.created) for each in whole.messages)
    return there <= here


def _moved(message: Record, numbers: Mapping[int | None, int | None]) -> Record:
    if message.parent not in numbers:
        raise StorageError(f"Message {message.id} follows {message.parent}, which does not exist.")
    if message.state == "streaming":
        message = replace(message, state="failed", stop=INTERRUPTED)
    return replace(message, parent=numbers[message.parent])
