"""The index of a folder as a file: SQLite, with FTS5 for the words."""

import hashlib
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from assistant.passages import words
from assistant.passages.splitting import Part
from assistant.passages.walking import Found

VERSION = 1
"""Of the tables, and of how words are indexed; an index of another version is made anew."""
_TABLES = """
    PRAGMA journal_mode = WAL;
    BEGIN IMMEDIATE;
    CREATE TABLE folder (path BLOB NOT NULL, current INTEGER NOT NULL);
    CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,
        changed INTEGER NOT NULL, digest BLOB NOT NULL, language TEXT NOT NULL,
        reason TEXT NOT NULL);
    CREATE TABLE passage (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, first INTEGER NOT NULL,
        last INTEGER NOT NULL, heading TEXT NOT NULL, packed BLOB NOT NULL);
    CREATE INDEX passage_of_file ON passage (file);
    CREATE VIRTUAL TABLE words USING
        fts5 (terms, content = '', tokenize = 'unicode61 remove_diacritics 0');
    CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);
    INSERT INTO folder VALUES (x'{path}', 0);
    PRAGMA user_version = {VERSION};
    COMMIT;
"""
ODD = 20
"""Of the files that are left out, those that are named."""


def place(folder: Path, cache: Path) -> Path:
    """Return the path of a folder's index."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()
    return cache / f"{name[:16]}.db"


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection | None]:
    """Open an index, also while it is written; yield None if there is none that can be read."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(address, uri=True)) as sql:
        if sql.execute("PRAGMA user_version").fetchone() == (VERSION,):
            yield sql
            return
    yield None


def remove(path: Path) -> None:
    """Delete an index, if it is there."""
    for end in ("", "-wal", "-shm", ".lock"):
        Path(f"{path}{end}").unlink(missing_ok=True)


def remove_lost(cache: Path) -> None:
    """Delete the indexes of folders that are gone."""
    for path in cache.glob("*.db"):
        with reading(path) as sql:
            folder = sql and sql.execute("SELECT path FROM folder").fetchone()
        if folder and not os.path.isdir(folder[0]):
            remove(path)


class IndexFile:
    """An index that is brought up to date; what was written counts at the next `commit`."""

    def __init__(self, path: Path, folder: Path) -> None:
        """Open an index, or make it.

        Raises:
            sqlite3.OperationalError: it cannot be written.
            sqlite3.DatabaseError: it is damaged.
        """
        self._sql = sqlite3.connect(path)
        (version,) = self._sql.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            self._sql.close()
            remove(path)
            self._sql = sqlite3.connect(path)
        self._sql.execute("PRAGMA synchronous = NORMAL")
        if version != VERSION:
            self._sql.executescript(_TABLES.format(VERSION=VERSION, path=os.fsencode(folder).hex()))
        self._sql.execute("CREATE TEMP TABLE seen (path TEXT PRIMARY KEY)")

    def compare(self, found: Iterable[Found]) -> list[Found]:
        """Take over what was found in the folder; return the files that are to be read."""
        changed = []
        for each in found:
            self._sql.execute("INSERT OR IGNORE INTO seen VALUES (?)", (each.path,))
            known = self._sql.execute(
                "SELECT size, changed, reason FROM file WHERE path = ?", (each.path,)
            ).fetchone()
            if each.reason and (not known or known[2] != each.reason):
                self.put(each, reason=each.reason)
            elif not each.reason and (not known or known[:2] != (each.size, each.changed)):
                changed.append(each)
        gone = "SELECT path FROM file WHERE path NOT IN (SELECT path FROM seen)"
        for (path,) in self._sql.execute(gone).fetchall():
            self._remove(path)
        if changed:
            self._sql.execute("UPDATE folder SET current = 0")
        self.commit()
        return changed

    def is_same(self, found: Found, digest: bytes) -> bool:
        """Whether a file has the content that it had; then it is not asked about again."""
        known = (found.size, found.changed, found.path, digest)
        sql = "UPDATE file SET size = ?, changed = ? WHERE path = ? AND digest = ?"
        return self._sql.execute(sql, known).rowcount > 0

    def put(
        self,
        found: Found,
        digest: bytes = b"",
        parts: Iterable[Part] = (),
        *,
        language: str = "",
        reason: str = "",
    ) -> None:
        """Replace what is known of a file: its passages, or the reason why it is left out."""
        self._remove(found.path)
        row = (found.path, found.size, found.changed, digest, language, reason)
        file = self._sql.execute("INSERT INTO file VALUES (NULL, ?, ?, ?, ?, ?, ?)", row).lastrowid
        for part in parts:
            packed = zlib.compress(part.text.encode("utf-8", "surrogatepass"))
            kept = (file, part.first, part.last, part.heading, packed)
            id_ = self._sql.execute("INSERT INTO passage VALUES (NULL, ?, ?, ?, ?, ?)", kept)
            said = words.terms(indexed(found.path, part.heading, part.text), language)
            with_words = "INSERT INTO words (rowid, terms) VALUES (?, ?)"
            self._sql.execute(with_words, (id_.lastrowid, said))

    def commit(self, complete: bool = False) -> None:
        """Let what was written count; `complete` says that the index is up to date."""
        if complete:
            ended = self._sql.execute("UPDATE folder SET current = 1 WHERE current = 0").rowcount
            if ended:
                self._sql.execute("INSERT INTO words (words) VALUES ('optimize')")
        self._sql.commit()

    def close(self) -> None:
        """Close the file."""
        self._sql.close()

    def _remove(self, path: str) -> None:
        rows = self._sql.execute(
            "SELECT passage.id, language, heading, packed FROM file JOIN passage "
            "ON file = file.id WHERE path = ?", (path,)
        ).fetchall()  # fmt: skip
        for id_, language, heading, packed in rows:
            said = words.terms(indexed(path, heading, text(packed)), language)
            gone = "INSERT INTO words (words, rowid, terms) VALUES ('delete', ?, ?)"
            self._sql.execute(gone, (id_, said))
            self._sql.execute("DELETE FROM passage WHERE id = ?", (id_,))
        self._sql.execute("DELETE FROM file WHERE path = ?", (path,))


def text(packed: bytes) -> str:
    """Return the text of a passage as the index keeps it."""
    return zlib.decompress(packed).decode("utf-8", "surrogatepass")


def indexed(path: str, heading: str, text: str) -> str:
    """Return the text whose words a passage is found by."""
    return f"{path}\n{heading}\n{text}"
