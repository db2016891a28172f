"""The tables, and how a database of an earlier version becomes one of this version."""

import sqlite3
from collections.abc import Callable

from assistant.store.database import transaction

APPLICATION_ID = 0x53504348  # "SPCH", in the header of every database of specchat's

_TABLES = (
    # Ids are never given twice, so that one which is remembered cannot mean something else later.
    """CREATE TABLE conversation (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        title TEXT NOT NULL,
        named INTEGER NOT NULL,
        system TEXT NOT NULL,
        created REAL NOT NULL,
        updated REAL NOT NULL,
        pinned INTEGER NOT NULL DEFAULT 0,
        leaf INTEGER,
        deleted REAL)""",
    "CREATE INDEX conversation_order ON conversation (pinned, updated, id)",
    # `hidden` is the message whose dropping hid this one; `owner` the instance that streams it.
    """CREATE TABLE message (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation INTEGER NOT NULL REFERENCES conversation,
        parent INTEGER REFERENCES message DEFERRABLE INITIALLY DEFERRED,
        hidden INTEGER,
        role TEXT NOT NULL,
        created REAL NOT NULL,
        state TEXT NOT NULL,
        owner TEXT,
        stop TEXT,
        model TEXT NOT NULL,
        content TEXT NOT NULL,
        token_ids BLOB,
        attachments BLOB,
        stats BLOB)""",
    "CREATE INDEX message_tree ON message (conversation, parent, hidden)",
    "CREATE INDEX message_parent ON message (parent)",
    "CREATE INDEX message_hidden ON message (hidden) WHERE hidden IS NOT NULL",
    "CREATE INDEX message_streaming ON message (owner) WHERE state = 'streaming'",
    "CREATE INDEX message_prompts ON message (created, id) WHERE role = 'user'",
    # Beside the messages, which stay quick to read.
    """CREATE TABLE trace (
        message INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
        part INTEGER NOT NULL,
        packed BLOB NOT NULL,
        PRIMARY KEY (message, part))""",
    "CREATE TABLE note (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
)

# The index keeps no text of its own. What still streams enters it when it ends.
_MESSAGES = (
    """CREATE VIRTUAL TABLE message_text USING fts5(
        {0}, content='message', content_rowid='id',
        tokenize='unicode61 remove_diacritics 2')""",
    """CREATE TRIGGER message_insert AFTER INSERT ON message WHEN new.state <> 'streaming' BEGIN
        INSERT INTO message_text (rowid, {0}) VALUES (new.id, {new}); END""",
    """CREATE TRIGGER message_delete AFTER DELETE ON message WHEN old.state <> 'streaming' BEGIN
        INSERT INTO message_text (message_text, rowid, {0})
        VALUES ('delete', old.id, {old}); END""",
    """CREATE TRIGGER message_out BEFORE UPDATE OF {0}, state ON message
        WHEN old.state <> 'streaming' BEGIN
        INSERT INTO message_text (message_text, rowid, {0})
        VALUES ('delete', old.id, {old}); END""",
    """CREATE TRIGGER message_in AFTER UPDATE OF {0}, state ON message
        WHEN new.state <> 'streaming' BEGIN
        INSERT INTO message_text (rowid, {0}) VALUES (new.id, {new}); END""",
)
_TITLES = (
    """CREATE VIRTUAL TABLE title_text USING fts5(
        title, content='conversation', content_rowid='id',
        tokenize='unicode61 remove_diacritics 2')""",
    """CREATE TRIGGER title_insert AFTER INSERT ON conversation BEGIN
        INSERT INTO title_text (rowid, title) VALUES (new.id, new.title); END""",
    """CREATE TRIGGER title_delete AFTER DELETE ON conversation BEGIN
        INSERT INTO title_text (title_text, rowid, title)
        VALUES ('delete', old.id, old.title); END""",
    """CREATE TRIGGER title_update AFTER UPDATE OF title ON conversation BEGIN
        INSERT INTO title_text (title_text, rowid, title) VALUES ('delete', old.id, old.title);
        INSERT INTO title_text (rowid, title) VALUES (new.id, new.title); END""",
)


_TEXTS = ("content", "thought")
"""What of a message is searched."""


def _index_messages(sql: sqlite3.Connection, *columns: str) -> None:
    """Make the search index of messages, empty, and what keeps it up to date."""
    old, new = (", ".join(f"{row}.{name}" for name in columns) for row in ("old", "new"))
    for statement in _MESSAGES:
        sql.execute(statement.format(", ".join(columns), old=old, new=new))


def _first(sql: sqlite3.Connection) -> None:
    for statement in _TABLES:
        sql.execute(statement)
    _index_messages(sql, "content")
    for statement in _TITLES:
        sql.execute(statement)


def _thoughts(sql: sqlite3.Connection) -> None:
    """Give messages a thought beside their content, which is searched, too."""
    sql.execute("ALTER TABLE message ADD COLUMN thought TEXT NOT NULL DEFAULT ''")
    for trigger in ("insert", "delete", "out", "in"):
        sql.execute(f"DROP TRIGGER message_{trigger}")
    sql.execute("DROP TABLE message_text")
    _index_messages(sql, *_TEXTS)
    _fill(sql)


def _calls(sql: sqlite3.Connection) -> None:
    """Give answers the calls that they ask for, and results the one that they are of."""
    sql.execute("ALTER TABLE message ADD COLUMN calls TEXT NOT NULL DEFAULT ''")
    sql.execute("ALTER TABLE message ADD COLUMN seconds REAL NOT NULL DEFAULT 0")


def _fill(sql: sqlite3.Connection) -> None:
    """Enter all messages that are complete into their empty index."""
    names = ", ".join(_TEXTS)
    sql.execute(
        f"INSERT INTO message_text (rowid, {names}) SELECT id, {names} FROM message "
        "WHERE state <> 'streaming'"
    )


Migration = Callable[[sqlite3.Connection], None]

# The first makes version 1, and so on. One that has been released is never changed.
MIGRATIONS: tuple[Migration, ...] = (_first, _thoughts, _calls)


def newest() -> int:
    """Return the version that this specchat makes."""
    return len(MIGRATIONS)


def version(sql: sqlite3.Connection) -> int:
    """Return which version a database has; 0 before it has any table."""
    return int(sql.execute("PRAGMA user_version").fetchone()[0])


def reindex(sql: sqlite3.Connection) -> None:
    """Make the search index again, whatever became of the old one: it only repeats what is stored.

    A kill in the middle leaves a database that wants this done once more.
    """
    sql.execute("PRAGMA writable_schema = ON")  # nothing else drops a table that is damaged
    sql.execute("DELETE FROM sqlite_master WHERE name IN ('message_text', 'title_text')")
    sql.execute("PRAGMA writable_schema = RESET")
    with transaction(sql):
        old = sql.execute(
            "SELECT type, name FROM sqlite_master WHERE type = 'trigger' "
            "OR (type = 'table' AND (name GLOB 'message_text_*' OR name GLOB 'title_text_*'))"
        ).fetchall()
        for kind, name in old:
            sql.execute(f"DROP {kind} {name}")
        _index_messages(sql, *_TEXTS)
        for statement in _TITLES:
            sql.execute(statement)
        _fill(sql)
        sql.execute("INSERT INTO title_text (rowid, title) SELECT id, title FROM conversation")


def migrate(sql: sqlite3.Connection) -> None:
    """Bring a database up to this version, each step whole or not at all."""
    for number, step in enumerate(MIGRATIONS[version(sql) :], version(sql) + 1):
        with transaction(sql):
            step(sql)
            sql.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            sql.execute(f"PRAGMA user_version = {number}")
