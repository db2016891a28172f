"""A connection to SQLite that several threads can use: its tables, its transactions, its errors."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import TypeVar

from models.errors import StorageError

APPLICATION_ID = 0x53504348  # "SPCH", in the header of every database of specchat's
VERSION = 3  # in the header, too; 1 and 2 were never released

_SCHEMA = Path(__file__).with_name("schema.sql")
_INDEXES = ("message_text", "title_text")
# An FTS5 index is reset by writing its version (4), empty totals (row 1) and a structure
# without segments (row 10), as in SQLite's fts5_index.c; FTS5 then rebuilds it.
_EMPTY_INDEX = (
    "INSERT OR REPLACE INTO {0}_config VALUES ('version', 4)",
    "DELETE FROM {0}_data",
    "INSERT INTO {0}_data VALUES (1, x''), (10, x'00000000000000')",
    "INSERT INTO {0} ({0}) VALUES ('rebuild')",
)
BUSY_MS = 30_000  # to rewrite 500 MB after a deletion takes another program 5 to 15 seconds
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_DISK_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_FORBIDDEN = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
_SENTENCES = {
    _LOCKED: "{path} is locked by another program, or its file system has no locks. Close that "
    "program, or set SPECCHAT_HOME to a folder on a local disk.",
    _DISK_FULL: "The disk of {path} is full or fails ({error}), so this was not kept. Free some "
    "space; what was kept before is safe.",
    _DAMAGE: "{path} is damaged ({error}). Close every specchat and start one again: it then "
    "repairs the file.",
    _FORBIDDEN: "{path} cannot be opened or written, so nothing new is kept. Make the "
    "file and its folder readable and writable, or set SPECCHAT_HOME to another folder.",
}
_MEANING = {code: text for codes, text in _SENTENCES.items() for code in codes}


def is_damage(error: Exception) -> bool:
    """Return whether an error means that the file is damaged."""
    if isinstance(error, MemoryError):  # a damaged length asks for more than there is
        return True
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in _DAMAGE or is_index_damage(error)


def is_index_damage(error: object) -> bool:
    """Return whether an error is one of a search index, which can be rebuilt."""
    # FTS5 reports SQLITE_CONSTRAINT itself; our own tables report extended codes.
    codes = sqlite3.SQLITE_CORRUPT_VTAB, sqlite3.SQLITE_CONSTRAINT
    return getattr(error, "sqlite_errorcode", 0) in codes or "fts5" in str(error).lower()


def check(sql: sqlite3.Connection) -> str | None:
    """Check the whole database; return its first error outside the search indexes, or None."""
    try:
        errors: list[object] = [row[0] for row in sql.execute("PRAGMA quick_check")]
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        errors = [error]
    outside = (error for error in errors if error != "ok" and not is_index_damage(error))
    return next(map(str, outside), None)


def connect(path: Path | None, *, read_only: bool = False) -> sqlite3.Connection:
    """Open an existing database file; without a path, a new database in memory."""
    name = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}" if path else ":memory:"
    sql = sqlite3.connect(
        name, uri=path is not None, isolation_level=None, check_same_thread=False, timeout=0
    )
    sql.row_factory = sqlite3.Row
    # A damaged byte becomes U+FFFD, so that the rest of the text can be read.
    sql.text_factory = lambda text: text.decode("utf-8", "replace")
    sql.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    sql.execute("PRAGMA cell_size_check = ON")
    return sql


def configure(sql: sqlite3.Connection) -> None:
    """Configure a connection: synced writes, foreign keys, and no deleted text left on disk."""
    # Not WAL. On a full disk (tried on a tmpfs), a database in WAL mode can be neither opened nor
    # emptied, and before SQLite 3.51.3 two programs can damage it.
    sql.execute("PRAGMA journal_mode = TRUNCATE")
    sql.execute("PRAGMA synchronous = FULL")
    sql.execute("PRAGMA fullfsync = ON")  # or macOS leaves what is synced in the drive's memory
    sql.execute("PRAGMA secure_delete = ON")
    sql.execute("PRAGMA foreign_keys = ON")
    sql.execute("PRAGMA temp_store = MEMORY")  # no chat in the folder for temporary files


@contextmanager
def sql_errors(path: Path | None) -> Iterator[None]:
    """Raise SQLite's errors as StorageErrors that name `path` and say what to do."""
    try:
        yield
    except (sqlite3.Error, MemoryError) as error:
        damage = sqlite3.SQLITE_CORRUPT if is_damage(error) else 0
        code = damage or getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code not in _MEANING:
            raise
        text = _MEANING[code].format(path=path or "The memory", error=error)
        raise StorageError(text) from error


@contextmanager
def transaction(sql: sqlite3.Connection, statement: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Run the block in a transaction: commit at its end, roll back if it fails."""
    sql.execute(statement)
    try:
        yield
        sql.execute("COMMIT")
    except BaseException:  # an interrupt must not leave it open either
        if sql.in_transaction:  # a full disk may have ended it already
            sql.execute("ROLLBACK")
        raise


def identity(sql: sqlite3.Connection) -> tuple[int, int, int]:
    """Return the application id, the version and the number of tables; all 0 in an empty file."""
    application, version, tables = sql.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
        "FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    return application, version, tables


def create_tables(sql: sqlite3.Connection) -> None:
    """Create all tables; in a transaction."""
    for statement in _SCHEMA.read_text("utf-8").split("\n\n"):  # a script would end the transaction
        sql.execute(statement)
    sql.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    sql.execute(f"PRAGMA user_version = {VERSION}")


_Result = TypeVar("_Result")


class Database:
    """Run functions in transactions on one connection, one thread at a time."""

    def __init__(self, sql: sqlite3.Connection, path: Path | None) -> None:
        self.path = path
        self._sql = sql
        self._lock = threading.RLock()

    def read(self, do: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Run queries in one read transaction, and return what `do` returns."""
        return self._transact("BEGIN", do)

    def write(self, do: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Run changes in one transaction; they are on disk when this returns."""
        return self._transact("BEGIN IMMEDIATE", do)

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection without a transaction, for VACUUM and PRAGMA."""
        with self._lock, sql_errors(self.path):
            yield self._sql

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._sql.close()

    def _transact(self, statement: str, do: Callable[[sqlite3.Connection], _Result]) -> _Result:
        with self.connection() as sql:
            try:
                with transaction(sql, statement):
                    return do(sql)
            except (sqlite3.DatabaseError, MemoryError) as error:
                # A damaged length that asks for more memory than there is may be an index's.
                if not (is_index_damage(error) or isinstance(error, MemoryError)):
                    raise
            with transaction(sql):  # rebuild the indexes, however damaged they are
                for name, empty in product(_INDEXES, _EMPTY_INDEX):
                    sql.execute(empty.format(name))
            with transaction(sql, statement):
                return do(sql)
