"""Which conversations are open where, when several instances share a store."""

import sqlite3

from assistant.store.database import Database
from assistant.store.presence import Presence

_KEY = "open by "


class Sharing:
    """What a store knows of the other instances that use it."""

    _database: Database
    _presence: Presence | None

    def enter(self, conversation: int | None) -> bool:
        """Note which conversation this instance has open; say whether another has it open, too.

        What is said in both is kept, as branches. None is a conversation that nobody knows yet.
        """
        if self._presence is None:
            return False
        key = _KEY + self._presence.id
        with self._database.writing() as sql:
            sql.execute("DELETE FROM note WHERE key = ?", (key,))
            if conversation is None:
                return False
            sql.execute("INSERT INTO note VALUES (?, ?)", (key, str(conversation)))
        return self.is_open_elsewhere(conversation)

    def is_open_elsewhere(self, conversation: int) -> bool:
        """Return whether another instance has a conversation open."""
        with self._database.reading() as sql:
            return conversation in open_elsewhere(sql, self._presence)


def open_elsewhere(sql: sqlite3.Connection, presence: Presence | None) -> set[int]:
    """Return the conversations that other instances have open."""
    if presence is None:
        return set()
    notes = sql.execute("SELECT key, value FROM note WHERE key GLOB ?", (f"{_KEY}*",)).fetchall()
    found = {key.removeprefix(_KEY): int(conversation) for key, conversation in notes}
    return {found[id_] for id_ in found.keys() - {presence.id} if presence.lives(id_)}


def forget_dead(sql: sqlite3.Connection, living: set[str]) -> None:
    """Remove what instances noted that are no more."""
    notes = sql.execute("SELECT key FROM note WHERE key GLOB ?", (f"{_KEY}*",)).fetchall()
    dead = [(key,) for (key,) in notes if key.removeprefix(_KEY) not in living]
    sql.executemany("DELETE FROM note WHERE key = ?", dead)
