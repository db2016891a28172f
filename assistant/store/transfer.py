"""Conversations taken out and put in as wholes, with every branch."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

from assistant.store.database import Database, storable
from assistant.store.inserting import insert, keep_trace, stand_at
from assistant.store.rows import gone, tree
from assistant.store.trace_packing import unpack_trace
from assistant.store.values import INTERRUPTED, FullConversation, Record
from assistant.tokens import Trace
from models.errors import StorageError

_ROW = "SELECT title, named, system, created, updated, pinned, leaf FROM conversation WHERE id = ?"
_TRACES = """SELECT message, packed FROM trace JOIN message ON message.id = message
    WHERE conversation = ? AND hidden IS NULL ORDER BY message, part"""


@dataclass(frozen=True, slots=True)
class Taken:
    """Where a conversation is that was to be added."""

    number: int
    is_new: bool  # False: it was there already


class Wholes:
    """What the store can do with conversations as wholes."""

    _database: Database

    def whole(self, conversation: int) -> FullConversation:
        """Return a conversation with all of its branches."""
        with self._database.reading() as sql:
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

    def take_in(self, wholes: Sequence[FullConversation]) -> tuple[Taken, ...]:
        """Add conversations that are not here yet, all or, when one cannot be added, none.

        StorageError: a conversation does not hang together, or a number in it is too large.
        """
        with self._taking_in() as sql:
            known: defaultdict[float, list[int]] = defaultdict(list)
            for id_, created in sql.execute(
                "SELECT id, created FROM conversation WHERE deleted IS NULL"
            ):
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

    @contextmanager
    def _taking_in(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._database.writing() as sql:
                yield sql
        except OverflowError as error:
            raise StorageError("A number in this conversation is too large.") from error


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
        raise StorageError(f"Message {message.id} follows {message.parent}, which is not there.")
    if message.state == "streaming":
        message = replace(message, state="failed", stop=INTERRUPTED)
    return replace(message, parent=numbers[message.parent])
