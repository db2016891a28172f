"""Deleting for good: from the tables, the search index, the free pages and the backups."""

import json
import sqlite3
from pathlib import Path

from assistant.decoding.sources import ngram_store
from assistant.store import backups
from assistant.store.database import Database
from assistant.store.sharing import Presence, open_elsewhere
from assistant.store.values import TO_CONVERSATION, TO_MESSAGE
from models.errors import StorageError
from models.files import snapshots

_BACKUP_TIMEOUT_S = 60.0  # for the backup that another instance is making
_MAX_VACUUM_IN_MEMORY = 200_000_000  # a larger database is rearranged in a temporary file

# What another instance shows may be answered there, and then has to be there.
_FREE = "NOT IN (SELECT value FROM json_each(?2))"
_DELETED = f"""SELECT id FROM conversation
    WHERE deleted IS NOT NULL AND coalesce(id = ?1, TRUE) AND id {_FREE}"""
_MESSAGES = f"""(conversation IN ({_DELETED})
    OR (?1 IS NULL AND hidden IS NOT NULL AND conversation {_FREE}))"""
_NOTES = "DELETE FROM note WHERE key IN"


def purge(database: Database, conversation: int | None, presence: Presence | None) -> None:
    """Remove deleted conversations and hidden messages, or one deleted conversation.

    Those that another instance has open stay.
    """
    with database.writing() as sql:
        if not _remove(sql, conversation, open_elsewhere(sql, presence)):
            return
        if database.path:
            ngram_store.clear()
            _discard_snapshots()  # before it is deleted for good: nobody would ask again
    with database.alone() as sql:
        # SQLite's secure_delete leaves what was in pages that it has rearranged since.
        large = database.path and database.path.stat().st_size > _MAX_VACUUM_IN_MEMORY
        sql.execute(f"PRAGMA temp_store = {'FILE' if large else 'MEMORY'}")
        sql.execute("VACUUM")
        sql.execute("PRAGMA temp_store = MEMORY")
        sql.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if database.path and (old := backups.backups(database.path)):
        _replace(database.path, old)


def _remove(sql: sqlite3.Connection, conversation: int | None, elsewhere: set[int]) -> bool:
    arguments = (conversation, json.dumps(sorted(elsewhere)))
    removed = sum(
        sql.execute(statement, arguments).rowcount
        for statement in (
            f"{_NOTES} (SELECT '{TO_MESSAGE}' || id FROM message WHERE {_MESSAGES})",
            f"{_NOTES} (SELECT '{TO_CONVERSATION}' || id FROM ({_DELETED}))",
            f"DELETE FROM message WHERE {_MESSAGES}",
            f"DELETE FROM conversation WHERE id IN ({_DELETED})",
        )
    )
    if removed:
        # Until its parts are merged, the index still has the words of what left it.
        sql.execute("INSERT INTO message_text (message_text) VALUES ('optimize')")
        sql.execute("INSERT INTO title_text (title_text) VALUES ('optimize')")
    return removed > 0


def _discard_snapshots() -> None:
    """Remove what models have read of conversations, whichever they were."""
    place = snapshots.folder()
    try:
        snapshots.discard(place)
    except OSError as error:
        raise StorageError(
            f"Nothing was deleted, because {place} cannot be removed: {error.strerror}."
        ) from error


def _replace(path: Path, old: list[Path]) -> None:
    if backups.back_up(path, patience_s=_BACKUP_TIMEOUT_S) is None:
        raise StorageError(
            f"What was deleted is gone from {path}, but not from its backups, because another "
            "specchat is making one. Delete it once more."
        )
    for backup in old:
        backup.unlink(missing_ok=True)
