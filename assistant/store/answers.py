"""Answers and the results of tools in the store, while they arrive and when they have ended."""

import sqlite3
import time
from collections.abc import Sequence

from assistant.events import Stats
from assistant.request import ToolCall
from assistant.store import messages
from assistant.store.database import Database
from assistant.store.packing import unpack_trace
from assistant.store.values import Record, State
from assistant.tokens import Trace

_MARK_UPDATED = """UPDATE conversation SET updated = ?
    WHERE id = (SELECT conversation FROM message WHERE id = ?)"""


class Answers:
    """What models have answered, in all conversations. Use it as `Store.answers`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._streamed: dict[int, Trace] = {}  # answers that stream: the part of the trace on disk

    def begin(self, conversation: int, parent: int, model: str) -> Record:
        """Add an empty answer, which streams from now on."""
        empty = Record(0, parent, "assistant", "", time.time(), "streaming", model=model)
        return self._database.write(messages.append, conversation, empty)

    def call(self, conversation: int, parent: int, call: ToolCall) -> Record:
        """Add an empty result for a call that starts to run."""
        empty = Record(0, parent, "tool", "", time.time(), "streaming", calls=(call,))
        return self._database.write(messages.append, conversation, empty)

    def returned(
        self, result: int, content: str, state: State, stop: str | None, seconds: float
    ) -> Record:
        """Store what a call returned, or why it returned nothing; `seconds` is how long it ran."""
        values = {"content": content, "state": state, "stop": stop, "seconds": seconds}
        return self._database.write(lambda sql: messages.change(sql, result, **values))

    def stream(self, answer: int, content: str, trace: Trace, thought: str = "") -> None:
        """Store an unfinished answer: its whole text and trace so far."""

        def keep(sql: sqlite3.Connection) -> None:
            messages.change(sql, answer, content=content, thought=thought, state="streaming")
            self._keep_trace(sql, answer, trace)

        self._database.write(keep)
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
        """Store a finished answer; `stop` and `state` say why it ended."""
        texts = {"content": content, "thought": thought, "token_ids": token_ids, "calls": calls}

        def keep(sql: sqlite3.Connection) -> Record:
            ended = messages.change(sql, answer, **texts, stats=stats, stop=stop, state=state)
            self._keep_trace(sql, answer, trace)
            sql.execute(_MARK_UPDATED, (time.time(), answer))
            return ended

        ended = self._database.write(keep)
        self._streamed.pop(answer, None)
        return ended

    def trace(self, answer: int) -> Trace:
        """Return the trace of an answer; it is empty if the answer was imported without one."""
        parts = self._database.read(messages.trace_parts, answer)
        return tuple(step for packed in parts for step in unpack_trace(packed))

    def _keep_trace(self, sql: sqlite3.Connection, answer: int, trace: Trace) -> None:
        """Append the steps not yet stored; rewrite the trace if its stored prefix differs."""
        kept = self._streamed.get(answer, ())
        more = bool(kept) and trace[: len(kept)] == kept
        messages.keep_trace(sql, answer, trace[len(kept) :] if more else trace, more)
