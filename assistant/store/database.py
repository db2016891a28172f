"""One connection to the database: how it is set up, taken in turns, and what its errors mean."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from models.errors import StorageError

BUSY_MS = 5000
# A bug of earlier versions can damage a database in WAL mode that two programs write to.
_WAL_SINCE = (3, 51, 3)
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_MEANING = {
    sqlite3.SQLITE_BUSY: "{path} is locked by another program. Close that program and try again.",
    sqlite3.SQLITE_LOCKED: "{path} is locked by another program. Close that program and try again.",
    sqlite3.SQLITE_READONLY: "{path} cannot be written, so nothing new is kept. Make the file and "
    "its folder writable, or set SPECCHAT_HOME to another folder.",
    sqlite3.SQLITE_CANTOPEN: "{path} cannot be opened. Make the file and its folder readable and "
    "writable, or set SPECCHAT_HOME to another folder.",
    sqlite3.SQLITE_FULL: "The disk of {path} is full, so this was not kept. Free some space; what "
    "was kept before is safe.",
    sqlite3.SQLITE_IOERR: "The disk did not store what was written to {path}; it may be full. What "
    "was kept before is safe.",
    **dict.fromkeys(
        DAMAGED, "{path} is damaged. Close specchat and start it again: it then repairs the file."
    ),
}


def is_damage(error: Exception) -> bool:
    """Say whether an error tells of a damaged file; the search index has codes of its own."""
    if isinstance(error, MemoryError):  # a length in it that no memory has room for
        return True
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in DAMAGED or code == sqlite3.SQLITE_CONSTRAINT or "fts5 file" in str(error)


def journal_mode(version: tuple[int, ...]) -> str:
    """Return the journal mode that is safe with a version of SQLite."""
    return "WAL" if version >= _WAL_SINCE else "TRUNCATE"


def connect(path: Path | None, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a database that exists; None is one in memory."""
    name = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}" if path else ":memory:"
    sql = sqlite3.connect(
        name, uri=path is not None, isolation_level=None, check_same_thread=False, timeout=0
    )
    sql.row_factory = sqlite3.Row
    # A damaged byte is shown as such, and hides nothing else.
    sql.text_factory = lambda text: text.decode("utf-8", "replace")
    sql.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    sql.execute("PRAGMA cell_size_check = ON")
    return sql


def set_up(sql: sqlite3.Connection) -> None:
    """Make a connection durable, strict and discreet."""
    sql.execute(f"PRAGMA journal_mode = {journal_mode(sqlite3.sqlite_version_info)}")
    sql.execute("PRAGMA synchronous = FULL")
    sql.execute("PRAGMA secure_delete = ON")
    sql.execute("PRAGMA foreign_keys = ON")
    sql.execute("PRAGMA temp_store = MEMORY")  # no chat in the folder for temporary files


@contextmanager
def explained(path: Path | None, damaged: Callable[[], None] | None = None) -> Iterator[None]:
    """Turn SQLite's errors into sentences; `damaged` is called when the file proves to be."""
    try:
        yield
    except (sqlite3.Error, MemoryError) as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if is_damage(error):
            code = sqlite3.SQLITE_CORRUPT
            if damaged:
                damaged()
        if code not in _MEANING:
            raise
        raise StorageError(_MEANING[code].format(path=path or "The memory")) from error


def storable(text: str) -> str:
    """Return a text without the halves of characters that no database takes."""
    return text.encode(errors="replace").decode()


@contextmanager
def transaction(sql: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Do the block as a whole or, when it fails, not at all."""
    sql.execute(begin)
    try:
        yield
        sql.execute("COMMIT")
    except BaseException:  # an interrupt must not leave it open either
        if sql.in_transaction:  # a full disk may have ended it already
            sql.execute("ROLLBACK")
        raise


class Database:
    """A connection that threads take in turns."""

    def __init__(
        self, sql: sqlite3.Connection, path: Path | None, damaged: Callable[[], None] | None = None
    ) -> None:
        self.path = path
        self._sql = sql
        self._damaged = damaged
        self._lock = threading.RLock()

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """Give the connection for queries that see one state of the database."""
        return self._transaction("BEGIN")

    def writing(self) -> AbstractContextManager[sqlite3.Connection]:
        """Give the connection for changes, which are on disk when the block ends without error."""
        return self._transaction("BEGIN IMMEDIATE")

    @contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """Give the connection outside of a transaction."""
        with self._lock, explained(self.path, self._damaged):
            yield self._sql

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._sql.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self.alone() as sql, transaction(sql, begin):
            yield sql
