"""Opening a database, whatever state it is in: nothing is overwritten, nothing is lost silently."""

import json
import sqlite3
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from assistant.store import backups, files
from assistant.store.database import Database, connect, explained, is_damage, set_up
from assistant.store.schema import APPLICATION_ID, migrate, newest, reindex, version
from assistant.store.sharing import Presence, forget_dead
from assistant.store.values import INTERRUPTED
from models.errors import StorageError

_MAX_CHECKED_BYTES = 50_000_000  # larger files are read from end to end by the daily backup


@dataclass(frozen=True, slots=True)
class Opened:
    """A database that is ready for use."""

    database: Database
    presence: Presence | None  # None: in memory, or it cannot be written
    notice: str | None  # what a user should know of it


def in_memory() -> Opened:
    """Open a database that is gone when it is closed."""
    sql = connect(None)
    set_up(sql)
    migrate(sql)
    return Opened(Database(sql, None), None, None)


def on_disk(path: Path) -> Opened:
    """Open a database; make, repair or migrate it first where that is needed."""
    try:
        return _on_disk(path)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be used ({error.strerror}). Make the file and its folder readable and "
            "writable, or set SPECCHAT_HOME to another folder."
        ) from error


def _on_disk(path: Path) -> Opened:
    files.private_folder(path.parent)
    # What lies beside it has to be the same for whoever gets there by another name.
    path = path.resolve() if path.exists() else path
    if path.is_file() and not files.writable(path):
        return _read_only(path)
    suspect = files.suspect(path)

    def found_damaged() -> None:
        suspect.touch(0o600)

    with files.opening(path), explained(path, found_damaged), ExitStack() as undo:
        presence = Presence(files.running(path))
        undo.callback(presence.close)
        notice = _ready(path, presence)
        sql = connect(path)
        undo.callback(sql.close)
        set_up(sql)
        if 0 < version(sql) < newest():
            _prepare_to_migrate(path, presence)
        migrate(sql)
        _interrupt(sql, presence)
        undo.pop_all()  # all went well
        return Opened(Database(sql, path, found_damaged), presence, notice)


def _read_only(path: Path) -> Opened:
    with explained(path):
        if (found := _problem(path)) or path.stat().st_size == 0:
            raise StorageError(
                f"{path} is damaged ({found or 'it is empty'}) and cannot be repaired where it is, "
                "because it cannot be written. Set SPECCHAT_HOME to another folder."
            )
        sql = connect(path, read_only=True)
        if version(sql) < newest():
            sql.close()
            raise StorageError(
                f"{path} is from an earlier specchat and cannot be upgraded, because it cannot be "
                "written."
            )
    notice = f"{path} cannot be written: its conversations can be read, but nothing new is kept."
    return Opened(Database(sql, path), None, notice)


def _ready(path: Path, presence: Presence) -> str | None:
    """Make sure that there is a sound file, and return what had to be done for it."""
    if not path.exists():
        files.private_file(path)
        backup = next(iter(backups.backups(path)), None)
        if backup is None:
            return None
        return f"{path} was missing, so a new one was started. Its newest backup is {backup}."
    files.private_file(path)
    found = _problem(path)
    if found is None and files.suspect(path).exists() and not presence.others():
        found = _renewed(path)
        if found is None:
            files.suspect(path).unlink(missing_ok=True)
    if found is None:
        return None
    if presence.others():
        raise StorageError(
            f"{path} is damaged ({found}). Close every other specchat and start again to repair it."
        )
    return _repair(path, found)


def _repair(path: Path, found: str) -> str:
    aside = files.move_aside(path)
    files.suspect(path).unlink(missing_ok=True)
    text = f"{path} was damaged ({found}). It is kept as {aside}"
    if backup := backups.restore(path):
        return f"{text}; the conversations were restored from the backup {backup}."
    files.private_file(path)
    return f"{text}; there was no backup, so the list of conversations starts empty."


def _prepare_to_migrate(path: Path, presence: Presence) -> None:
    if presence.others() or backups.back_up(path) is None:
        raise StorageError(
            f"{path} is from an earlier specchat and must be upgraded. Close every other specchat "
            "first, and start again."
        )


def _interrupt(sql: sqlite3.Connection, presence: Presence) -> None:
    """Close the answers of instances that are no more."""
    others = presence.others()
    living = json.dumps(sorted(others))
    sql.execute(
        "UPDATE message SET state = 'failed', stop = ?, owner = NULL WHERE state = 'streaming' "
        "AND coalesce(owner, '') NOT IN (SELECT value FROM json_each(?))",
        (INTERRUPTED, living),
    )
    forget_dead(sql, others)


def _problem(path: Path) -> str | None:
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
    if size <= _MAX_CHECKED_BYTES or files.suspect(path).exists():
        return backups.check(path)
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


def _renewed(path: Path) -> str | None:
    """Rebuild the search index, which no check covers; return what that cannot repair."""
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
