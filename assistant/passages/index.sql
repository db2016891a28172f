PRAGMA journal_mode = WAL;
BEGIN;
CREATE TABLE folder (path BLOB NOT NULL, current INTEGER NOT NULL, revision INTEGER NOT NULL);
CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,
    changed INTEGER NOT NULL, digest BLOB NOT NULL, language TEXT NOT NULL,
    reason TEXT NOT NULL);
CREATE TABLE passage (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, first INTEGER NOT NULL,
    last INTEGER NOT NULL, heading TEXT NOT NULL, header TEXT NOT NULL, names TEXT NOT NULL,
    packed BLOB NOT NULL);
CREATE INDEX passage_of_file ON passage (file);
CREATE VIRTUAL TABLE words USING
    fts5 (terms, names, content = '', tokenize = 'unicode61 remove_diacritics 0');
CREATE TABLE vocabulary (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE, word TEXT NOT NULL);
INSERT INTO folder VALUES (x'{path}', 0, 0);
PRAGMA user_version = {version};
COMMIT;
