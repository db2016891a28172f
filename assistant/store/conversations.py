"""Conversations as wholes: begun, listed, named, put away, deleted."""

import time

from assistant.store.database import Database, storable
from assistant.store.rows import gone
from assistant.store.search import listed
from assistant.store.titles import derive
from assistant.store.values import ChatSummary


class Conversations:
    """What the store can do with whole conversations."""

    _database: Database

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
        with self._database.reading() as sql:
            row = sql.execute(
                "SELECT id FROM conversation WHERE deleted IS NULL ORDER BY updated DESC, id DESC"
            ).fetchone()
        return None if row is None else int(row[0])

    def is_there(self, conversation: int) -> bool:
        """Say whether there is such a conversation, and it was not deleted."""
        with self._database.reading() as sql:
            found = sql.execute(
                "SELECT 1 FROM conversation WHERE id = ? AND deleted IS NULL", (conversation,)
            ).fetchone()
        return found is not None

    def system(self, conversation: int) -> str:
        """Return the system prompt of a conversation."""
        with self._database.reading() as sql:
            row = sql.execute(
                "SELECT system FROM conversation WHERE id = ?", (conversation,)
            ).fetchone()
        if row is None:
            raise gone("conversation", conversation)
        return str(row[0])

    def rename(self, conversation: int, title: str) -> None:
        """Give a conversation a title; an empty one brings back that of its first message."""
        named = " ".join(storable(title).split())
        with self._database.reading() as sql:
            first = sql.execute(
                "SELECT content FROM message WHERE conversation = ? AND role = 'user' "
                "AND hidden IS NULL ORDER BY id LIMIT 1",
                (conversation,),
            ).fetchone()
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

    def prompts(self, limit: int = 500) -> tuple[str, ...]:
        """Return what the person sent last, oldest first, nothing twice in a row."""
        texts: list[str] = []
        with self._database.reading() as sql:
            for (text,) in sql.execute(
                "SELECT content FROM message CROSS JOIN conversation c ON c.id = conversation "
                "WHERE role = 'user' AND hidden IS NULL AND deleted IS NULL "
                "ORDER BY message.created DESC, message.id DESC"
            ):
                if len(texts) == limit:
                    break
                if texts[-1:] != [text]:
                    texts.append(text)
        return tuple(reversed(texts))

    def _set(self, conversation: int, what: str, *values: object) -> None:
        with self._database.writing() as sql:
            done = sql.execute(
                f"UPDATE conversation SET {what} WHERE id = ?", (*values, conversation)
            )
            if done.rowcount == 0:
                raise gone("conversation", conversation)
