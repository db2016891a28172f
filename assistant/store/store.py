"""The store of conversations: one SQLite file."""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from assistant.events import Trace
from assistant.store import conversations, files, messages
from assistant.store.messages import not_found
from assistant.store.opening import in_memory, on_disk
from assistant.store.purging import purge
from assistant.store.search import chats, prompts
from assistant.store.values import FullConversation, Imported, StoredMessage, title_from
from models.errors import StorageError, well_formed

_MAX_LEARNED = 10_000  # conversations
_CHANGING = (
    "content", "thought", "token_ids", "attachments", "tool_calls", "stats", "stop", "state",
    "seconds",
)  # fmt: skip
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def _method(
    function: Callable[Concatenate[sqlite3.Connection, _Arguments], _Result], writes: bool = False
) -> Callable[Concatenate["Store", _Arguments], _Result]:
    """Return a method that runs a function of messages or conversations in a transaction."""

    @wraps(function)
    def method(store: "Store", /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        run = store._database.write if writes else store._database.read
        return run(lambda sql: function(sql, *args, **kwargs))

    return method


class Store:
    """Conversations on disk, or in memory for as long as the program runs.

    Every method is short and may be called from any thread; what it changed is on disk when it
    returns. Any number of programs may use one file at once. Every method raises StorageError if
    a number is unknown, or the file cannot be read or written.
    """

    def __init__(self, path: Path | None, announce: Callable[[str], object] = str) -> None:
        """Open or create the store; without a path, in memory.

        A damaged file is set aside and restored from its backup; `warning` then says so.
        `announce` gets a sentence before a purge that takes a while.
        """
        opened = in_memory() if path is None else on_disk(path)
        self.warning: str | None = opened.warning
        self._database = opened.database
        self._lock, self._announce = opened.lock, announce
        self._streamed: dict[int, Trace] = {}  # by streaming answer, the part of its trace on disk

    @property
    def saves(self) -> bool:
        """Whether what is written outlives the program."""
        return self._lock is not None

    def close(self) -> None:
        """Purge deleted conversations and messages, make the daily backup, and close the store.

        Nothing is purged while another program has the store open: its user may undo a deletion,
        or answer a message that was deleted here.
        """
        with suppress(StorageError):  # the next close tries again
            if self._lock and self._lock.try_exclusive():
                purge(self._database, announce=self._announce)
        with suppress(StorageError):
            self.back_up()
        self._database.close()
        lock, self._lock = self._lock, None
        if lock:
            lock.close()

    summaries = _method(chats)
    prompts = _method(prompts)
    path = _method(messages.path)
    tree = _method(messages.tree)
    trace = _method(messages.trace)
    append = _method(messages.append, writes=True)
    whole = _method(conversations.whole)
    choose = _method(conversations.choose, writes=True)
    drop = _method(conversations.drop, writes=True)
    restore = _method(conversations.restore, writes=True)
    fork = _method(conversations.fork, writes=True)

    def create(self, title: str = "", system: str = "") -> int:
        """Create a conversation; without a title, it is named after its first message."""
        title, now = " ".join(title.split()), time.time()
        whole = FullConversation(title, bool(title), system, now, now, False, None, (), {})
        return self._database.write(lambda sql: conversations.insert_conversation(sql, whole))

    def newest(self) -> int | None:
        """Return the id of the conversation that was changed last; None if there is none."""
        newest = "SELECT id FROM conversation WHERE deleted IS NULL ORDER BY updated DESC, id DESC"
        return self._value(int, newest)

    def is_there(self, conversation: int) -> bool:
        """Return whether a conversation exists and is not deleted."""
        known = "SELECT 1 FROM conversation WHERE id = ? AND deleted IS NULL"
        return self._value(int, known, conversation) is not None

    def system(self, conversation: int) -> str:
        """Return the system prompt of a conversation."""
        query = "SELECT system FROM conversation WHERE id = ?"
        find = partial(messages.required_row, query=query, what="conversation", id_=conversation)
        return str(self._database.read(find)["system"])

    def rename(self, conversation: int, title: str) -> None:
        """Set the title; an empty one names the conversation after its first message again."""
        named = " ".join(well_formed(title).split())
        query = """SELECT content FROM message WHERE conversation = ? AND role = 'user'
            AND hidden IS NULL ORDER BY id LIMIT 1"""
        title = named or title_from(self._value(str, query, conversation) or "")
        self._set(conversation, "title = ?, named = ?", title, bool(named))

    def pin(self, conversation: int, pinned: bool = True) -> None:
        """Pin a conversation to the top of the list, or unpin it."""
        self._set(conversation, "pinned = ?", pinned)

    def delete(self, conversation: int) -> None:
        """Hide a conversation from everything but `undelete`; `close` removes it for good."""
        self._set(conversation, "deleted = ?", time.time())

    def undelete(self, conversation: int) -> None:
        """Bring a deleted conversation back."""
        self._set(conversation, "deleted = NULL")

    def remove(self, *conversations: int) -> None:
        """Remove conversations for good, from the file, its free pages and its backup."""
        purge(self._database, conversations, self._announce)

    def update(self, message: StoredMessage, trace: Trace = ()) -> StoredMessage:
        """Store an answer or a call as it is now, or the passages of a question; return it.

        Of the trace of an answer that streams, only the steps that are not stored yet are written.
        """
        values = {name: getattr(message, name) for name in _CHANGING}
        is_streaming, streamed = message.state == "streaming", self._streamed.get(message.id, ())
        appends = bool(streamed) and trace[: len(streamed)] == streamed

        def save(sql: sqlite3.Connection) -> StoredMessage:
            saved = messages.change(sql, message.id, **values)
            steps = trace[len(streamed) :] if appends else trace
            messages.store_trace(sql, message.id, steps, appends)
            if not is_streaming:
                messages.set_date(sql, messages.conversation_of(sql, message.id), time.time())
            return saved

        saved = self._database.write(save)
        self._streamed[message.id] = trace
        if not is_streaming:
            del self._streamed[message.id]
        return saved

    def answer_tokens(self, model: str) -> Iterator[tuple[int, ...]]:
        """Yield the token ids of each answer of a model, newest conversations first."""
        for summary in self.summaries(limit=_MAX_LEARNED):
            for record in self.tree(summary.id):
                if record.model == model and record.token_ids:
                    yield record.token_ids

    def import_conversations(self, wholes: Sequence[FullConversation]) -> tuple[Imported, ...]:
        """Add those conversations that are not stored yet; if one cannot be added, none is."""
        try:
            return self._database.write(lambda sql: conversations.import_conversations(sql, wholes))
        except OverflowError as error:
            raise StorageError("A number in this conversation is too large.") from error

    def back_up(self) -> Path | None:
        """Back up the database, unless the backup is younger than a day.

        It reads the whole file (0.5 s for 160 MB on two busy cores): call it from a thread.
        Returns the path of a new backup, or None.
        """
        path = self._database.path
        # A backup of an empty store would leave the first conversation without one for a day.
        if path is None or not self.saves or self.newest() is None:
            return None
        return files.back_up(path)

    def remember(self, key: str, value: str) -> None:
        """Store a note under `key`, and replace an earlier one."""
        insert = "INSERT INTO note VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = ?2"
        self._database.write(lambda sql: sql.execute(insert, (key, well_formed(value))))

    def recall(self, key: str) -> str | None:
        """Return the note under `key`; None if there is none."""
        return self._value(str, "SELECT value FROM note WHERE key = ?", key)

    def _value(self, kind: Callable[[Any], _Result], query: str, *values: object) -> _Result | None:
        """Return the first column of the first row; None if there is no row."""
        row = self._database.read(lambda sql: sql.execute(query, values).fetchone())
        return None if row is None else kind(row[0])

    def _set(self, conversation: int, what: str, *values: object) -> None:
        update = f"UPDATE conversation SET {what} WHERE id = ?"
        row = (*values, conversation)
        if self._database.write(lambda sql: sql.execute(update, row)).rowcount == 0:
            raise not_found("conversation", conversation)
