"""The tables of the database and their search indexes."""

import sqlite3

APPLICATION_ID = 0x53504348  # "SPCH", in the header of every database of specchat's
VERSION = 3  # in the header, too; 1 and 2 were never released

_TABLES = (
    # AUTOINCREMENT: ids are never reused, because programs and exports remember them.
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
    # `hidden` is the message that was dropped, itself or an ancestor.
    """CREATE TABLE message (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation INTEGER NOT NULL REFERENCES conversation,
        parent INTEGER REFERENCES message DEFERRABLE INITIALLY DEFERRED,
        hidden INTEGER,
        role TEXT NOT NULL,
        created REAL NOT NULL,
        state TEXT NOT NULL,
        stop TEXT,
        model TEXT NOT NULL,
        content TEXT NOT NULL,
        token_ids BLOB,
        attachments BLOB,
        stats BLOB,
        thought TEXT NOT NULL DEFAULT '',
        calls TEXT NOT NULL DEFAULT '',
        seconds REAL NOT NULL DEFAULT 0)""",
    "CREATE INDEX message_tree ON message (conversation, parent, hidden)",
    "CREATE INDEX message_parent ON message (parent)",
    "CREATE INDEX message_hidden ON message (hidden) WHERE hidden IS NOT NULL",
    "CREATE INDEX message_streaming ON message (id) WHERE state = 'streaming'",
    "CREATE INDEX message_prompts ON message (created, id) WHERE role = 'user'",
    # In a table of its own, so that messages are read quickly.
    """CREATE TABLE trace (
        message INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
        part INTEGER NOT NULL,
        packed BLOB NOT NULL,
        PRIMARY KEY (message, part))""",
    "CREATE TABLE note (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    # The indexes refer to the text in the tables. An answer is indexed when it has ended.
    """CREATE VIRTUAL TABLE message_text USING fts5(
        content, thought, content='message', content_rowid='id',
        tokenize='unicode61 remove_diacritics 2')""",
    """CREATE TRIGGER message_insert AFTER INSERT ON message WHEN new.state <> 'streaming' BEGIN
        INSERT INTO message_text (rowid, content, thought)
        VALUES (new.id, new.content, new.thought); END""",
    """CREATE TRIGGER message_delete AFTER DELETE ON message WHEN old.state <> 'streaming' BEGIN
        INSERT INTO message_text (message_text, rowid, content, thought)
        VALUES ('delete', old.id, old.content, old.thought); END""",
    """CREATE TRIGGER message_out BEFORE UPDATE OF content, thought, state ON message
        WHEN old.state <> 'streaming' BEGIN
        INSERT INTO message_text (message_text, rowid, content, thought)
        VALUES ('delete', old.id, old.content, old.thought); END""",
    """CREATE TRIGGER message_in AFTER UPDATE OF content, thought, state ON message
        WHEN new.state <> 'streaming' BEGIN
        INSERT INTO message_text (rowid, content, thought)
        VALUES (new.id, new.content, new.thought); END""",
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
    for statement in _TABLES:
        sql.execute(statement)
    sql.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    sql.execute(f"PRAGMA user_version = {VERSION}")


def rebuild_indexes(sql: sqlite3.Connection) -> None:
    """Rebuild the search indexes from the tables, however damaged they are; in a transaction."""
    for name in _INDEXES:
        for statement in _EMPTY_INDEX:
            sql.execute(statement.format(name))
