"""Deletion for good: from tables, search indexes, free pages, caches and backups."""

import sqlite3
from collections.abc import Callable, Collection

from assistant.engine.sources import ngram_store
from assistant.store import files
from assistant.store.database import Database
from assistant.store.values import TO_CONVERSATION, TO_MESSAGE, TOOLS_OF
from models.errors import StorageError
from models.files import snapshots

_SLOW = 50_000_000  # bytes, which take two seconds
_MAX_VACUUM_IN_MEMORY = 200_000_000  # a larger database is rearranged in a temporary file

_DELETED = "SELECT id FROM conversation WHERE id = ?1 OR (?1 IS NULL AND deleted IS NOT NULL)"
_MESSAGES = f"(conversation IN ({_DELETED}) OR (?1 IS NULL AND hidden IS NOT NULL))"
# An empty message, as an answer that was cancelled before its first word, can wait for others.
_TEXTS = f"""SELECT 1 FROM message WHERE {_MESSAGES}
    AND (content || thought || calls <> '' OR attachments IS NOT NULL)"""
_NOTES = "DELETE FROM note WHERE key IN"
_REMOVE = (
    f"{_NOTES} (SELECT '{TO_MESSAGE}' || id FROM message WHERE {_MESSAGES})",
    f"{_NOTES} (SELECT '{TO_CONVERSATION}' || id FROM ({_DELETED}))",
    f"{_NOTES} (SELECT '{TOOLS_OF}' || id FROM ({_DELETED}))",
    f"DELETE FROM message WHERE {_MESSAGES}",
    f"DELETE FROM conversation WHERE id IN ({_DELETED})",
)


def purge(
    database: Database,
    ids: Collection[int | None] = (None,),
    announce: Callable[[str], object] = str,  # gets a sentence before what takes a while
) -> None:
    """Remove conversations or, without their ids, all deleted ones and all hidden messages."""
    query = f"SELECT EXISTS ({_TEXTS}) OR EXISTS ({_DELETED})"
    if not database.read(lambda sql: any(sql.execute(query, (id_,)).fetchone()[0] for id_ in ids)):
        return
    if database.path:  # copies first: with the rows gone, nothing would retry
        if (size := database.path.stat().st_size) > _SLOW:
            announce(f"Removing deleted text from {size / 1e6:,.0f} MB of chats ...")
        try:
            ngram_store.clear()
            snapshots.discard(snapshots.folder())
            files.discard_backup(database.path)
        except OSError as error:
            why = f"{error.filename} cannot be removed: {error.strerror}"
            raise StorageError(f"Nothing was deleted, because {why}.") from error
    database.write(lambda sql: _remove(sql, ids))
    _vacuum(database)


def _remove(sql: sqlite3.Connection, ids: Collection[int | None]) -> None:
    for statement in _REMOVE:
        sql.executemany(statement, ((id_,) for id_ in ids))
    # Until its segments are merged, an index has words of deleted rows.
    sql.execute("INSERT INTO message_text (message_text) VALUES ('optimize')")
    sql.execute("INSERT INTO title_text (title_text) VALUES ('optimize')")


def _vacuum(database: Database) -> None:
    """Rewrite the file: secure_delete leaves text in pages that were rearranged earlier."""
    with database.connection() as sql:
        large = database.path and database.path.stat().st_size > _MAX_VACUUM_IN_MEMORY
        sql.execute(f"PRAGMA temp_store = {'FILE' if large else 'MEMORY'}")
        sql.execute("VACUUM")
        sql.execute("PRAGMA temp_store = MEMORY")
