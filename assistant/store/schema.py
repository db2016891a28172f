"""The tables of the database and their search indexes, which `schema.sql` creates."""

import sqlite3
from pathlib import Path

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


def identity(sql: sqlite3.Connection) -> tuple[int, int, int]:
    """Return the application id, the version and the number of tables; all 0 in an empty file."""
    application, version, tables = sql.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
        "FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    return application, version, tables


def make(sql: sqlite3.Connection) -> None:
    """Create all tables; in a transaction."""
    for statement in _SCHEMA.read_text("utf-8").split("\n\n"):  # a script would end the transaction
        sql.execute(statement)
    sql.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    sql.execute(f"PRAGMA user_version = {VERSION}")


def rebuild_indexes(sql: sqlite3.Connection) -> None:
    """Rebuild the search indexes from the tables, however damaged they are; in a transaction."""
    for name in _INDEXES:
        for statement in _EMPTY_INDEX:
            sql.execute(statement.format(name))
