"""Opening a database: create it, repair it from its backup, or refuse it in a sentence."""

import sqlite3
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import NamedTuple

from assistant.store import database, files
from assistant.store.database import VERSION, Database, connect, identity
from assistant.store.files import StoreLock
from assistant.store.values import INTERRUPTED
from models.errors import StorageError, raising
from models.files import disk

_INTERRUPT = "UPDATE message SET state = 'failed', stop = ? WHERE state = 'streaming'"


class Opened(NamedTuple):
    """A database that is ready for use."""

    database: Database
    lock: StoreLock | None = None  # None: in memory, or read-only
    warning: str | None = None  # for the user: what was repaired, or why nothing is saved


def in_memory() -> Opened:
    """Create a database in memory."""
    sql = connect(None)
    database.configure(sql)
    opened = Database(sql, None)
    opened.write(database.create_tables)
    return Opened(opened)


def on_disk(path: Path) -> Opened:
    """Open a database file; create or repair it first if necessary, or raise StorageError."""
    advice = " Make the file and its folder readable and writable, or set SPECCHAT_HOME to another."
    with raising(StorageError, f"{path} cannot be used", advice), database.sql_errors(path):
        return _on_disk(path)


def _on_disk(path: Path) -> Opened:
    disk.private_folder(path.parent)
    if path.exists():
        is_link = path.is_symlink()
        # Programs that open the file through a symbolic link must share its lock and backup.
        path = path.resolve()
        if is_link and (reason := _damage(path) if path.stat().st_size else "it is empty"):
            raise StorageError(
                f"A link stands for the conversations, and {path}, to which it points, holds none "
                f"({reason}). It is left as it is: remove the link, or set SPECCHAT_HOME."
            )
    if path.is_file() and not files.writable(path):
        return _read_only(path)
    with ExitStack() as undo:
        lock = StoreLock(path)
        undo.callback(lock.close)
        warning = _repair(path) if lock.is_exclusive else None
        sql = connect(path)
        undo.callback(sql.close)
        _refuse_others(path, sql)
        database.configure(sql)
        opened = Database(sql, path)
        if lock.is_exclusive and not any(opened.read(identity)):
            opened.write(database.create_tables)
        if lock.is_exclusive:  # then no program writes the answers that still stream
            with suppress(StorageError):  # a full disk: what is kept can still be read
                opened.write(lambda sql: sql.execute(_INTERRUPT, (INTERRUPTED,)))
        lock.share()
        undo.pop_all()  # success: the caller closes them
        return Opened(opened, lock, warning)


def _read_only(path: Path) -> Opened:
    if (reason := _damage(path)) or path.stat().st_size == 0:
        raise StorageError(
            f"{path} is damaged ({reason or 'it is empty'}) and cannot be repaired where it is, "
            "because it cannot be written. Set SPECCHAT_HOME to another folder."
        )
    warning = f"{path} cannot be written: its conversations can be read, but nothing new is kept."
    return Opened(Database(connect(path, read_only=True), path), warning=warning)


def _repair(path: Path) -> str | None:
    """Create or repair the file if necessary; return a sentence about a repair, or None."""
    reason, text = None, f"{path} was missing"
    if path.exists():
        files.private_file(path)
        if (reason := _damage(path)) is None:
            return None
        text = f"{path} was damaged ({reason}). It is kept as {files.move_aside(path)}"
    if backup := files.restore_backup(path):
        return f"{text}; the conversations were restored from the backup {backup}."
    files.private_file(path)
    return reason and f"{text}; there was no backup, so the list of conversations starts empty."


def _damage(path: Path) -> str | None:
    """Return the damage of the file, or None; raise StorageError for another program's file."""
    if path.stat().st_size == 0:
        return "it is empty" if files.backup_path(path).exists() else None
    try:
        with closing(connect(path, read_only=not files.writable(path))) as sql:
            _refuse_others(path, sql)
            return database.check(sql)
    except sqlite3.DatabaseError as error:
        if database.is_damage(error):
            return str(error)
        raise


def _refuse_others(path: Path, sql: sqlite3.Connection) -> None:
    application, version, tables = identity(sql)
    if application != database.APPLICATION_ID and (application or version or tables):
        raise StorageError(f"{path} is another program's database. Move it, or set SPECCHAT_HOME.")
    if application and version != VERSION:
        raise StorageError(
            f"{path} has version {version}, and this specchat reads version {VERSION}: another "
            "specchat made it, or it is damaged. Update specchat; or move the file away, and its "
            "backup is restored."
        )
