"""Answers and the results of tools in the store, while they arrive and when they have ended."""

import sqlite3
import time

from assistant.store import messages
from assistant.store.database import Database
from assistant.store.packing import unpack_trace
from assistant.store.values import Record
from assistant.tokens import Trace

_MARK_UPDATED = """UPDATE conversation SET updated = ?
    WHERE id = (SELECT conversation FROM message WHERE id = ?)"""


_ENDS = (
    "content", "thought", "token_ids", "attachments", "calls", "stats", "stop", "state", "seconds"
)  # fmt: skip


class Answers:
    """What models have answered, in all conversations. Use it as `Store.answers`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._streamed: dict[int, Trace] = {}  # answers that stream: the part of the trace on disk

    def stream(self, answer: int, content: str, trace: Trace, thought: str = "") -> None:
        """Store an unfinished answer: its whole text and trace so far."""

        def keep(sql: sqlite3.Connection) -> None:
            messages.change(sql, answer, content=content, thought=thought, state="streaming")
            self._keep_trace(sql, answer, trace)

        self._database.write(keep)
        self._streamed[answer] = trace

    def end(self, ended: Record, trace: Trace = ()) -> Record:
        """Store an answer that has ended, or what a call returned, with why and how it ended.

        Or a question, with what was found for it.
        """
        values = {name: getattr(ended, name) for name in _ENDS}

        def keep(sql: sqlite3.Connection) -> Record:
            kept = messages.change(sql, ended.id, **values)
            self._keep_trace(sql, ended.id, trace)
            sql.execute(_MARK_UPDATED, (time.time(), ended.id))
            return kept

        kept = self._database.write(keep)
        self._streamed.pop(ended.id, None)
        return kept

    def trace(self, answer: int) -> Trace:
        """Return the trace of an answer; it is empty if the answer was imported without one."""
        parts = self._database.read(messages.trace_parts, answer)
        return tuple(step for packed in parts for step in unpack_trace(packed))

    def _keep_trace(self, sql: sqlite3.Connection, answer: int, trace: Trace) -> None:
        """Append the steps not yet stored; rewrite the trace if its stored prefix differs."""
        kept = self._streamed.get(answer, ())
        more = bool(kept) and trace[: len(kept)] == kept
        messages.keep_trace(sql, answer, trace[len(kept) :] if more else trace, more)
