"""Messages: sent, answered while the answer streams, and read again."""

import time
from collections.abc import Sequence

from assistant.events import Stats
from assistant.store.database import Database, storable
from assistant.store.inserting import append, keep_trace
from assistant.store.rows import gone, pack_ids, pack_stats, path_to, record, tree
from assistant.store.trace_packing import unpack_trace
from assistant.store.values import Attachment, Record, State
from assistant.tokens import Trace

_STREAM = "UPDATE message SET content = ?, state = 'streaming', owner = ? WHERE id = ?"
_END = """UPDATE message SET content = ?, token_ids = ?, stats = ?, stop = ?, state = ?,
    owner = NULL WHERE id = ?"""


class Messages:
    """What the store can do with messages."""

    _database: Database
    _owner: str | None
    _streamed: dict[int, Trace]  # what is on disk of the answers that stream

    def path(self, conversation: int) -> tuple[Record, ...]:
        """Return the messages from the start of a conversation to where it is now."""
        with self._database.reading() as sql:
            row = sql.execute(
                "SELECT leaf FROM conversation WHERE id = ?", (conversation,)
            ).fetchone()
            if row is None:
                raise gone("conversation", conversation)
            return path_to(sql, row["leaf"])

    def tree(self, conversation: int) -> tuple[Record, ...]:
        """Return every message of a conversation on any branch, each after its parent."""
        with self._database.reading() as sql:
            return tree(sql, conversation)

    def ask(
        self,
        conversation: int,
        parent: int | None,
        content: str,
        attachments: Sequence[Attachment] = (),
    ) -> Record:
        """Keep what a person sends; it is on disk when this returns."""
        asked = Record(0, parent, "user", content, time.time(), "complete", (), tuple(attachments))
        return self._append(conversation, asked)

    def answer(self, conversation: int, parent: int, model: str) -> Record:
        """Make room for an answer that is about to stream."""
        empty = Record(0, parent, "assistant", "", time.time(), "streaming", model=model)
        return self._append(conversation, empty)

    def stream(self, answer: int, content: str, trace: Trace) -> None:
        """Keep what there is of an answer: all of its text and how all of it came about."""
        with self._database.writing() as sql:
            done = sql.execute(_STREAM, (storable(content), self._owner, answer))
            if done.rowcount == 0:
                raise gone("message", answer)
            keep_trace(sql, answer, *self._news(answer, trace))
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
    ) -> Record:
        """Keep an answer that is over, whatever ended it."""
        row = (storable(content), pack_ids(token_ids), pack_stats(stats), stop, state, answer)
        with self._database.writing() as sql:
            if sql.execute(_END, row).rowcount == 0:
                raise gone("message", answer)
            keep_trace(sql, answer, *self._news(answer, trace))
            sql.execute(
                "UPDATE conversation SET updated = ? "
                "WHERE id = (SELECT conversation FROM message WHERE id = ?)",
                (time.time(), answer),
            )
            ended = record(sql, answer)
        self._streamed.pop(answer, None)
        return ended

    def trace(self, answer: int) -> Trace:
        """Return how an answer came about; empty for one that was not decoded here."""
        with self._database.reading() as sql:
            parts = sql.execute(
                "SELECT packed FROM trace WHERE message = ? ORDER BY part", (answer,)
            ).fetchall()
        return tuple(step for (packed,) in parts for step in unpack_trace(packed))

    def _append(self, conversation: int, new: Record) -> Record:
        owner = self._owner if new.state == "streaming" else None
        with self._database.writing() as sql:
            return record(sql, append(sql, conversation, new, owner))

    def _news(self, answer: int, trace: Trace) -> tuple[Trace, bool]:
        """Return the part of a trace that is not on disk yet, and whether there is another."""
        kept = self._streamed.get(answer, ())
        if kept and trace[: len(kept)] == kept:
            return trace[len(kept) :], True
        return trace, False
