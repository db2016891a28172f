"""The store of conversations: SQLite in one file, nothing lost, nothing left over."""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from assistant.store import backups, branches, messages, sharing, transfer
from assistant.store.answers import Answers
from assistant.store.database import storable
from assistant.store.messages import gone
from assistant.store.opening import in_memory, on_disk
from assistant.store.purging import purge
from assistant.store.search import listed, prompts
from assistant.store.values import (
    Attachment,
    ChatSummary,
    FullConversation,
    Record,
    Taken,
    derive,
)
from models.errors import StorageError

_MAX_LEARNED = 10_000  # conversations


class Store:
    """Conversations on disk, or in memory for as long as the program runs.

    Every method is short and may be called from any thread; what it changed is on disk when it
    returns. Any number of instances may use one file at once. A StorageError says what is not
    there, or why the file cannot be read or written.
    """

    def __init__(self, path: Path | None) -> None:
        """Open the store, or make it; `path` None keeps it in memory.

        A damaged file is moved aside and replaced by the newest good backup, which `notice` then
        says. StorageError: the file cannot be used, and is left as it is.
        """
        opened = in_memory() if path is None else on_disk(path)
        self.notice: str | None = opened.notice
        self._database = opened.database
        self._presence = opened.presence
        self.answers = Answers(opened.database, opened.presence)

    @property
    def saves(self) -> bool:
        """Whether what is written outlives the program."""
        return self._presence is not None

    def close(self) -> None:
        """Close the store."""
        self._database.close()
        if self._presence:
            self._presence.close()

    # Conversations

    def summaries(
        self, search: str = "", limit: int = 200, offset: int = 0
    ) -> tuple[ChatSummary, ...]:
        """Return conversations, pinned ones first, then the newest.

        With a search, those that hold all of its words, the last as the beginning of one, and a
        snippet of the newest place.
        """
        with self._database.reading() as sql:
            return listed(sql, search, limit, offset)

    def begin(self, title: str = "", system: str = "") -> int:
        """Make a conversation; without a title, its first message gives it one."""
        title = " ".join(storable(title).split())
        row = (title, bool(title), storable(system), time.time())
        with self._database.writing() as sql:
            made = sql.execute(
                "INSERT INTO conversation (title, named, system, created, updated) "
                "VALUES (?1, ?2, ?3, ?4, ?4)",
                row,
            )
            return made.lastrowid or 0

    def newest(self) -> int | None:
        """Return the conversation in which something was said last."""
        row = self._row(
            "SELECT id FROM conversation WHERE deleted IS NULL ORDER BY updated DESC, id DESC"
        )
        return None if row is None else int(row[0])

    def is_there(self, conversation: int) -> bool:
        """Say whether there is such a conversation, and it was not deleted."""
        known = "SELECT 1 FROM conversation WHERE id = ? AND deleted IS NULL"
        return self._row(known, conversation) is not None

    def system(self, conversation: int) -> str:
        """Return the system prompt of a conversation."""
        row = self._row("SELECT system FROM conversation WHERE id = ?", conversation)
        if row is None:
            raise gone("conversation", conversation)
        return str(row[0])

    def rename(self, conversation: int, title: str) -> None:
        """Give a conversation a title; an empty one brings back that of its first message."""
        named = " ".join(storable(title).split())
        first = self._row(
            "SELECT content FROM message WHERE conversation = ? AND role = 'user' "
            "AND hidden IS NULL ORDER BY id LIMIT 1",
            conversation,
        )
        derived = derive(first[0]) if first else ""
        self._set(conversation, "title = ?, named = ?", named or derived, bool(named))

    def pin(self, conversation: int, pinned: bool = True) -> None:
        """Keep a conversation at the top of the list, or let it go."""
        self._set(conversation, "pinned = ?", pinned)

    def delete(self, conversation: int) -> None:
        """Put a conversation where only `undelete` finds it; `purge` then removes it."""
        self._set(conversation, "deleted = ?", time.time())

    def undelete(self, conversation: int) -> None:
        """Bring a deleted conversation back."""
        self._set(conversation, "deleted = NULL")

    def purge(self, conversation: int | None = None) -> None:
        """Remove what was deleted and dropped for good, or one deleted conversation.

        Its text is then in no part of the file; a new backup replaces those that still held it.
        What another instance has open is left to that one.
        """
        purge(self._database, conversation, self._presence)

    def prompts(self, limit: int = 500) -> tuple[str, ...]:
        """Return what the user sent last, oldest first, nothing twice in a row."""
        with self._database.reading() as sql:
            return prompts(sql, limit)

    # Messages and branches

    def path(self, conversation: int) -> tuple[Record, ...]:
        """Return the messages from the start of a conversation to where it is now."""
        with self._database.reading() as sql:
            return messages.path(sql, conversation)

    def tree(self, conversation: int) -> tuple[Record, ...]:
        """Return every message of a conversation on any branch, each after its parent."""
        with self._database.reading() as sql:
            return messages.tree(sql, conversation)

    def choose(self, message: int) -> None:
        """Make the newest branch through a message the one that the conversation is on."""
        with self._database.writing() as sql:
            branches.choose(sql, message)

    def drop(self, message: int) -> None:
        """Hide a message and all that follows it."""
        with self._database.writing() as sql:
            branches.drop(sql, message)

    def restore(self, message: int) -> None:
        """Show again what dropping a message hid."""
        with self._database.writing() as sql:
            branches.restore(sql, message)

    def fork(self, message: int) -> int:
        """Make a conversation of the path to a message, and return its number."""
        with self._database.writing() as sql:
            return branches.fork(sql, message)

    def ask(
        self,
        conversation: int,
        parent: int | None,
        content: str,
        attachments: Sequence[Attachment] = (),
    ) -> Record:
        """Keep what a user sends; it is on disk when this returns."""
        asked = Record(0, parent, "user", content, time.time(), "complete", (), tuple(attachments))
        with self._database.writing() as sql:
            return messages.append(sql, conversation, asked, None)

    # Conversations taken out and put in

    def answer_tokens(self, model: str) -> Iterator[tuple[int, ...]]:
        """Yield the tokens of a model's answers, those of the newest conversations first."""
        for summary in self.summaries(limit=_MAX_LEARNED):
            for record in self.tree(summary.id):
                if record.model == model and record.token_ids:
                    yield record.token_ids

    def whole(self, conversation: int) -> FullConversation:
        """Return a conversation with all of its branches."""
        return transfer.whole(self._database, conversation)

    def take_in(self, wholes: Sequence[FullConversation]) -> tuple[Taken, ...]:
        """Add conversations that are not here yet, all or, when one cannot be added, none.

        StorageError: a conversation does not hang together, or a number in it is too large.
        """
        try:
            with self._database.writing() as sql:
                return transfer.take_in(sql, wholes)
        except OverflowError as error:
            raise StorageError("A number in this conversation is too large.") from error

    def back_up(self, older_than_s: float = 86_400.0) -> Path | None:
        """Back up the database, unless the newest backup is younger than that.

        It reads the whole file twice: call it from a thread. None: there was nothing to do.
        StorageError: the database is damaged, and the next start repairs it.
        """
        path = self._database.path
        if path is None or not self.saves or backups.age(path) < older_than_s:
            return None
        return backups.back_up(path)

    # Notes, and what is open in other instances

    def remember(self, key: str, value: str) -> None:
        """Keep a small text instead of the one before."""
        with self._database.writing() as sql:
            sql.execute(
                "INSERT INTO note VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = ?2",
                (key, storable(value)),
            )

    def recall(self, key: str) -> str | None:
        """Return the small text that was kept last."""
        row = self._row("SELECT value FROM note WHERE key = ?", key)
        return None if row is None else str(row[0])

    def enter(self, conversation: int | None) -> bool:
        """Note which conversation this instance has open; say whether another has it open, too.

        What is said in both is kept, as branches. None is a conversation that nobody knows yet.
        """
        if self._presence is None:
            return False
        with self._database.writing() as sql:
            return sharing.enter(sql, self._presence, conversation)

    def is_open_elsewhere(self, conversation: int) -> bool:
        """Return whether another instance has a conversation open."""
        with self._database.reading() as sql:
            return conversation in sharing.open_elsewhere(sql, self._presence)

    def _row(self, query: str, *values: object) -> sqlite3.Row | None:
        with self._database.reading() as sql:
            row: sqlite3.Row | None = sql.execute(query, values).fetchone()
            return row

    def _set(self, conversation: int, what: str, *values: object) -> None:
        with self._database.writing() as sql:
            done = sql.execute(
                f"UPDATE conversation SET {what} WHERE id = ?", (*values, conversation)
            )
            if done.rowcount == 0:
                raise gone("conversation", conversation)
