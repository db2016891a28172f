"""Conversations taken out and put in as wholes, with every branch."""

from collections.abc import Mapping
from dataclasses import replace

from assistant.store.database import Database, storable
from assistant.store.inserting import insert, keep_trace, stand_at
from assistant.store.packing import unpack_trace
from assistant.store.records import gone, tree
from assistant.store.values import INTERRUPTED, Record, Whole
from assistant.trace import Trace
from models.errors import StorageError

_ROW = "SELECT title, named, system, created, updated, pinned, leaf FROM conversation WHERE id = ?"
_TRACES = """SELECT message, packed FROM trace JOIN message ON message.id = message
    WHERE conversation = ? AND hidden IS NULL ORDER BY message, part"""


class Wholes:
    """What the store can do with conversations as wholes."""

    _database: Database

    def whole(self, conversation: int) -> Whole:
        """Return a conversation with all of its branches."""
        with self._database.reading() as sql:
            row = sql.execute(_ROW, (conversation,)).fetchone()
            if row is None:
                raise gone("conversation", conversation)
            messages = tree(sql, conversation)
            packed = sql.execute(_TRACES, (conversation,)).fetchall()
        traces: dict[int, Trace] = {}
        for id_, part in packed:
            traces[id_] = traces.get(id_, ()) + unpack_trace(part)
        title, named, system, created, updated, pinned, leaf = row
        return Whole(
            title, bool(named), system, created, updated, bool(pinned), leaf, messages, traces
        )

    def adopt(self, whole: Whole) -> int:
        """Add a conversation, and return its number here; its messages get new ones, too."""
        try:
            return self._adopt(whole)
        except OverflowError as error:
            raise StorageError("A number in this conversation is too large.") from error

    def _adopt(self, whole: Whole) -> int:
        row = (
            storable(whole.title),
            whole.named,
            storable(whole.system),
            whole.created,
            whole.updated,
            whole.pinned,
        )
        numbers: dict[int | None, int | None] = {None: None}
        with self._database.writing() as sql:
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


def _moved(message: Record, numbers: Mapping[int | None, int | None]) -> Record:
    if message.parent not in numbers:
        raise StorageError(f"Message {message.id} follows {message.parent}, which is not there.")
    if message.state == "streaming":
        message = replace(message, state="failed", stop=INTERRUPTED)
    return replace(message, parent=numbers[message.parent])
