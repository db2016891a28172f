-- AUTOINCREMENT: ids are never reused, because programs and exports remember them.
CREATE TABLE conversation (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    named INTEGER NOT NULL,
    system TEXT NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    pinned INTEGER NOT NULL DEFAULT 0,
    leaf INTEGER,
    deleted REAL);

CREATE INDEX conversation_order ON conversation (pinned, updated, id);

-- `hidden` is the message that was dropped, itself or an ancestor.
CREATE TABLE message (
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
    seconds REAL NOT NULL DEFAULT 0);

CREATE INDEX message_tree ON message (conversation, parent, hidden);

CREATE INDEX message_parent ON message (parent);

CREATE INDEX message_hidden ON message (hidden) WHERE hidden IS NOT NULL;

CREATE INDEX message_streaming ON message (id) WHERE state = 'streaming';

CREATE INDEX message_prompts ON message (created, id) WHERE role = 'user';

-- In a table of its own, so that messages are read quickly.
CREATE TABLE trace (
    message INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
    part INTEGER NOT NULL,
    packed BLOB NOT NULL,
    PRIMARY KEY (message, part));

CREATE TABLE note (key TEXT PRIMARY KEY, value TEXT NOT NULL);

-- The indexes refer to the text in the tables. An answer is indexed when it has ended.
CREATE VIRTUAL TABLE message_text USING fts5(
    content, thought, content='message', content_rowid='id',
    tokenize='unicode61 remove_diacritics 2');

CREATE TRIGGER message_insert AFTER INSERT ON message WHEN new.state <> 'streaming' BEGIN
    INSERT INTO message_text (rowid, content, thought)
    VALUES (new.id, new.content, new.thought); END;

CREATE TRIGGER message_delete AFTER DELETE ON message WHEN old.state <> 'streaming' BEGIN
    INSERT INTO message_text (message_text, rowid, content, thought)
    VALUES ('delete', old.id, old.content, old.thought); END;

CREATE TRIGGER message_out BEFORE UPDATE OF content, thought, state ON message
    WHEN old.state <> 'streaming' BEGIN
    INSERT INTO message_text (message_text, rowid, content, thought)
    VALUES ('delete', old.id, old.content, old.thought); END;

CREATE TRIGGER message_in AFTER UPDATE OF content, thought, state ON message
    WHEN new.state <> 'streaming' BEGIN
    INSERT INTO message_text (rowid, content, thought)
    VALUES (new.id, new.content, new.thought); END;

CREATE VIRTUAL TABLE title_text USING fts5(
    title, content='conversation', content_rowid='id',
    tokenize='unicode61 remove_diacritics 2');

CREATE TRIGGER title_insert AFTER INSERT ON conversation BEGIN
    INSERT INTO title_text (rowid, title) VALUES (new.id, new.title); END;

CREATE TRIGGER title_delete AFTER DELETE ON conversation BEGIN
    INSERT INTO title_text (title_text, rowid, title)
    VALUES ('delete', old.id, old.title); END;

CREATE TRIGGER title_update AFTER UPDATE OF title ON conversation BEGIN
    INSERT INTO title_text (title_text, rowid, title) VALUES ('delete', old.id, old.title);
    INSERT INTO title_text (rowid, title) VALUES (new.id, new.title); END;
