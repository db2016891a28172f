"""A connection that several threads can use, and its transactions."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, TypeVarTuple

from assistant.store.connection import DiskFull, explained, is_index_damage, set_up, transaction
from assistant.store.schema import rebuild_indexes

_Arguments = TypeVarTuple("_Arguments")
_Result = TypeVar("_Result")


class Database:
    """Run functions in transactions on one connection, one thread at a time."""

    def __init__(self, sql: sqlite3.Connection, path: Path | None) -> None:
        self.path = path
        self._sql = sql
        self._lock = threading.RLock()

    def read(
        self, do: Callable[[sqlite3.Connection, *_Arguments], _Result], *arguments: *_Arguments
    ) -> _Result:
        """Run queries in one read transaction, and return what `do` returns."""
        return self._transacted("BEGIN", lambda sql: do(sql, *arguments))

    def write(
        self, do: Callable[[sqlite3.Connection, *_Arguments], _Result], *arguments: *_Arguments
    ) -> _Result:
        """Run changes in one transaction; they are on disk when this returns."""
        return self._transacted("BEGIN IMMEDIATE", lambda sql: do(sql, *arguments))

    @contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection without a transaction, for VACUUM and PRAGMA."""
        with self._lock, explained(self.path):
            yield self._sql

    def delete(self, do: Callable[[bool], None]) -> None:
        """Call `do(False)`; if the disk is full, `do(True)` with the rollback journal in memory.

        Deleting thus works on a full disk, but a kill during the repetition may damage the file.
        """
        try:
            do(False)
        except DiskFull:
            with self.alone() as sql:
                sql.execute("PRAGMA journal_mode = MEMORY")
                try:
                    do(True)
                finally:
                    set_up(sql)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._sql.close()

    def _transacted(self, begin: str, do: Callable[[sqlite3.Connection], _Result]) -> _Result:
        with self.alone() as sql:
            try:
                with transaction(sql, begin):
                    return do(sql)
            except sqlite3.DatabaseError as error:
                if not is_index_damage(error):
                    raise
            with transaction(sql):
                rebuild_indexes(sql)
            with transaction(sql, begin):
                return do(sql)
