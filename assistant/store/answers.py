"""The answers of a store: they stream, they end, and how they were decoded is kept with them.

What tools return to them is kept in the same way.
"""

import sqlite3
import time
from collections.abc import Iterator, Sequence

from assistant.events import Stats
from assistant.request import ToolCall
from assistant.store import messages
from assistant.store.database import Database, storable
from assistant.store.messages import gone, keep_trace
from assistant.store.packing import pack_calls, pack_ids, pack_stats, unpack_stats, unpack_trace
from assistant.store.sharing import Presence
from assistant.store.values import Record, State, StoredAnswer
from assistant.tokens import Trace

_AT_ONCE = 256  # answers that are read at a time
_ALL = """SELECT message.id, message.created, model, content, stats
    FROM message JOIN conversation ON conversation.id = conversation
    WHERE message.id > ? AND role = 'assistant' AND stats IS NOT NULL
        AND hidden IS NULL AND deleted IS NULL
    ORDER BY message.id LIMIT ?"""
_STREAM = """UPDATE message SET content = ?, thought = ?, state = 'streaming', owner = ?
    WHERE id = ?"""
_END = """UPDATE message SET content = ?, thought = ?, token_ids = ?, stats = ?, calls = ?,
    stop = ?, state = ?, owner = NULL WHERE id = ?"""
_RETURN = """UPDATE message SET content = ?, stop = ?, state = ?, seconds = ?, owner = NULL
    WHERE id = ?"""


class Answers:
    """What models have answered, in all conversations; see `assistant.store.store.Store`."""

    def __init__(self, database: Database, presence: Presence | None) -> None:
        self._database = database
        self._owner = presence.id if presence else None
        self._streamed: dict[int, Trace] = {}  # what is on disk of the answers that stream

    def begin(self, conversation: int, parent: int, model: str) -> Record:
        """Make room for an answer that is about to stream."""
        empty = Record(0, parent, "assistant", "", time.time(), "streaming", model=model)
        with self._database.writing() as sql:
            return messages.append(sql, conversation, empty, self._owner)

    def call(self, conversation: int, parent: int, call: ToolCall) -> Record:
        """Make room for the result of a call, which is about to run."""
        empty = Record(0, parent, "tool", "", time.time(), "streaming", calls=(call,))
        with self._database.writing() as sql:
            return messages.append(sql, conversation, empty, self._owner)

    def returned(
        self, result: int, content: str, state: State, stop: str | None, seconds: float
    ) -> Record:
        """Keep what a call returned, or why it did not."""
        row = storable(content), stop, state, seconds, result
        with self._database.writing() as sql:
            if sql.execute(_RETURN, row).rowcount == 0:
                raise gone("message", result)
            return messages.record(sql, result)

    def stream(self, answer: int, content: str, trace: Trace, thought: str = "") -> None:
        """Keep what there is of an answer: all of its text and how it was decoded."""
        row = storable(content), storable(thought), self._owner, answer
        with self._database.writing() as sql:
            done = sql.execute(_STREAM, row)
            if done.rowcount == 0:
                raise gone("message", answer)
            self._keep_trace(sql, answer, trace)
        self._streamed[answer] = trace

    def end(
        self,
        answer: int,
        content: str,
        token_ids: Sequence[int],
        trace: Trace,
        stats: Stats | None,
        stop: str | None,
        state: State,
        thought: str = "",
        calls: Sequence[ToolCall] = (),
    ) -> Record:
        """Keep an answer that is over, whatever ended it."""
        texts, packed = (storable(content), storable(thought)), pack_ids(token_ids)
        row = (*texts, packed, pack_stats(stats), pack_calls(calls), stop, state, answer)
        with self._database.writing() as sql:
            if sql.execute(_END, row).rowcount == 0:
                raise gone("message", answer)
            self._keep_trace(sql, answer, trace)
            sql.execute(
                "UPDATE conversation SET updated = ? "
                "WHERE id = (SELECT conversation FROM message WHERE id = ?)",
                (time.time(), answer),
            )
            ended = messages.record(sql, answer)
        self._streamed.pop(answer, None)
        return ended

    def trace(self, answer: int) -> Trace:
        """Return how an answer was decoded; empty for one that was not decoded here."""
        with self._database.reading() as sql:
            parts = sql.execute(
                "SELECT packed FROM trace WHERE message = ? ORDER BY part", (answer,)
            ).fetchall()
        return tuple(step for (packed,) in parts for step in unpack_trace(packed))

    def with_stats(self) -> Iterator[StoredAnswer]:
        """Yield the answers of all conversations that have figures, oldest first."""
        last = 0
        while True:
            with self._database.reading() as sql:
                rows = sql.execute(_ALL, (last, _AT_ONCE)).fetchall()
            if not rows:
                return
            for last, created, model, content, packed in rows:  # noqa: B007 - the next begin there
                if (stats := unpack_stats(packed)) is not None:
                    yield StoredAnswer(created, model, content, stats)

    def _keep_trace(self, sql: sqlite3.Connection, answer: int, trace: Trace) -> None:
        """Add what is not on disk yet, or replace what is when it is not how this one begins."""
        kept = self._streamed.get(answer, ())
        more = bool(kept) and trace[: len(kept)] == kept
        keep_trace(sql, answer, trace[len(kept) :] if more else trace, more)
