"""The index of a folder as a file: SQLite, with FTS5 for the words."""

import hashlib
import os
import sqlite3
import zlib
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

from assistant.passages import words
from assistant.passages.splitting import Passage
from assistant.passages.walking import FoundFile
from models.files.disk import check_ours

VERSION = 6
"""Of the tables, and of how files are read; an index of another version is made again."""
_TABLES = Path(__file__).with_name("index.sql").read_text("utf-8")


def index_path(folder: Path, cache: Path) -> Path:
    """Return the path of a folder's index."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()
    return cache / f"{name[:16]}.db"


def open_index(path: Path, mode: str = "ro") -> sqlite3.Connection:
    """Open an index for reading, also while it is written, or (`rwc`) to update it.

    DatabaseError if it cannot be used: a link may lead to another program's database, and for a
    pipe SQLite would wait.
    """
    try:
        check_ours(path)
    except OSError as error:
        raise sqlite3.OperationalError(str(error.strerror)) from error
    sql = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True)
    (version,) = sql.execute("PRAGMA user_version").fetchone()
    if version != VERSION and (version or mode == "ro"):  # an empty file has none
        raise sqlite3.DatabaseError(f"version {version}")
    return sql


def remove(path: Path) -> None:
    """Delete an index, if it is there."""
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)


def remove_lost(cache: Path) -> None:
    """Delete the indexes of folders that are gone."""
    for path in cache.glob("*.db"):
        with suppress(sqlite3.DatabaseError), closing(open_index(path)) as sql:
            if not os.path.isdir(sql.execute("SELECT path FROM folder").fetchone()[0]):
                remove(path)


class IndexFile:
    """An index being updated; readers see the changes after the next `commit`."""

    def __init__(self, sql: sqlite3.Connection, folder: Path) -> None:
        """Use an index, or make its tables; DatabaseError if it is damaged."""
        self._sql = sql
        if not self._sql.execute("PRAGMA user_version").fetchone()[0]:
            self._sql.executescript(_TABLES.format(path=os.fsencode(folder).hex(), version=VERSION))
        self._sql.execute("PRAGMA synchronous = NORMAL")
        self._known = set[str]()  # terms that are known to be in the vocabulary

    def compare(self, files: Iterable[FoundFile]) -> list[FoundFile]:
        """Compare the index with the files of the folder; return the files to be read."""
        changed = list[FoundFile]()
        rows = self._sql.execute("SELECT path, size, changed, reason FROM file").fetchall()
        unseen = {path: row for path, *row in rows}
        for file in files:
            size, time, reason = unseen.pop(file.path, (-1, -1, ""))
            if file.reason and file.reason != reason:
                self.put(file, reason=file.reason)
            elif not file.reason and (size, time) != (file.size, file.changed):
                changed.append(file)
        for path in unseen:
            self._remove(path)
        if changed:
            self._sql.execute("UPDATE folder SET current = 0")
        self.commit()
        return changed

    def is_same(self, file: FoundFile, digest: bytes) -> bool:
        """Return whether a file has its old content; if so, note its new size and time."""
        known = (file.size, file.changed, file.path, digest)
        same = "UPDATE file SET size = ?, changed = ? WHERE path = ? AND digest = ?"
        return self._sql.execute(same, known).rowcount > 0

    def put(
        self,
        file: FoundFile,
        digest: bytes = b"",
        parts: Iterable[Passage] = (),
        language: str = "",
        reason: str = "",
    ) -> None:
        """Replace the entry of a file: its passages, or the reason why it is left out."""
        self._remove(file.path)
        self._sql.execute("UPDATE folder SET revision = revision + 1")  # of the vocabulary
        row = (file.path, file.size, file.changed, digest, language, reason)
        do = self._sql.execute
        file_id = do("INSERT INTO file VALUES (NULL, ?, ?, ?, ?, ?, ?)", row).lastrowid
        for part in parts:
            packed = zlib.compress(part.text.encode("utf-8", "surrogatepass"))
            names = words.titles(part.names, language)
            entry = (file_id, part.first, part.last, part.heading, part.header, names, packed)
            id_ = do("INSERT INTO passage VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", entry).lastrowid
            indexed_text = f"{file.path}\n{part.heading}\n{part.header}\n{part.text}"
            pairs = words.pairs(indexed_text, language)
            terms, forms = " ".join([term for term, _ in pairs]), dict(pairs)
            do("INSERT INTO words (rowid, terms, names) VALUES (?, ?, ?)", (id_, terms, names))
            new = [(term, forms[term]) for term in forms.keys() - self._known if len(term) > 2]
            self._sql.executemany("INSERT OR IGNORE INTO vocabulary VALUES (NULL, ?, ?)", new)
            self._known.update(term for term, _ in new)

    def commit(self) -> None:
        """Let readers see the changes."""
        self._sql.commit()

    def complete(self) -> None:
        """Mark the index as up to date, and close it."""
        if self._sql.execute("UPDATE folder SET current = 1 WHERE current = 0").rowcount:
            self._sql.execute("INSERT INTO words (words) VALUES ('optimize')")
            self._sql.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab (main, words, row)")
            lost = "DELETE FROM vocabulary WHERE term NOT IN (SELECT term FROM temp.terms)"
            self._sql.execute(lost)
        self._sql.commit()
        self._sql.close()

    def _remove(self, path: str) -> None:
        do = self._sql.execute
        of_file = (
            "SELECT passage.id, language, heading, header, names, packed "
            "FROM file JOIN passage ON file = file.id WHERE path = ?"
        )
        for id_, language, heading, header, names, packed in do(of_file, (path,)).fetchall():
            terms = words.terms(f"{path}\n{heading}\n{header}\n{unpack(packed)}", language)
            row = ("delete", id_, terms, names)
            do("INSERT INTO words (words, rowid, terms, names) VALUES (?, ?, ?, ?)", row)
            do("DELETE FROM passage WHERE id = ?", (id_,))
        do("DELETE FROM file WHERE path = ?", (path,))


def unpack(packed: bytes) -> str:
    """Return the text of a passage, which the index has in packed form."""
    return zlib.decompress(packed).decode("utf-8", "surrogatepass")
