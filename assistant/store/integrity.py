"""What is wrong with a database, and whether it is specchat's at all."""

import sqlite3
from contextlib import closing
from pathlib import Path

from assistant.store import files
from assistant.store.database import connect, is_damage, set_up
from assistant.store.schema import APPLICATION_ID, newest, reindex, version
from models.errors import StorageError

_CHECKED_BYTES = 50_000_000  # larger files are read from end to end by the daily backup instead


def check(path: Path) -> str | None:
    """Read a database from end to end, and return what is wrong with it."""
    try:
        with closing(connect(path, read_only=True)) as sql:
            found: str = sql.execute("PRAGMA quick_check(1)").fetchone()[0]
            return None if found == "ok" else found
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return str(error)
        raise


def renewed(path: Path) -> str | None:
    """Make the search index anew, which no check looks into; return what cannot be repaired so."""
    try:
        with closing(connect(path)) as sql:
            set_up(sql)
            if version(sql):
                reindex(sql)
    except sqlite3.DatabaseError as error:
        if is_damage(error) or error.sqlite_errorcode == sqlite3.SQLITE_ERROR:
            return str(error)
        raise
    return None


def problem(path: Path) -> str | None:
    """Return what is wrong with a file; refuse one that is sound but not this specchat's."""
    size = path.stat().st_size
    if size == 0:
        return "it is empty" if any(files.backups(path).glob("*.db")) else None
    try:
        with closing(connect(path, read_only=not files.writable(path))) as sql:
            _refuse_others(path, sql)
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return str(error)
        raise
    if size <= _CHECKED_BYTES or files.suspect(path).exists():
        return check(path)
    return None


def _refuse_others(path: Path, sql: sqlite3.Connection) -> None:
    application = sql.execute("PRAGMA application_id").fetchone()[0]
    tables = sql.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application != APPLICATION_ID and (tables or application or version(sql)):
        raise StorageError(
            f"{path} is the database of another program. Move it away, or set SPECCHAT_HOME."
        )
    if version(sql) > newest():
        raise StorageError(
            f"{path} was made by a newer specchat (its version is {version(sql)}, this one knows "
            f"{newest()}). Update specchat, or set SPECCHAT_HOME to another folder."
        )
