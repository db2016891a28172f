"""What is known of a folder: its passages, found by a question."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from assistant.passages import finding, index_file
from assistant.passages.splitting import Passage

ODD = 20
"""Of the files that are left out, those that are named."""


class IndexState(NamedTuple):
    """What an index holds."""

    files: int = 0  # that were read
    passages: int = 0
    odd: tuple[str, ...] = ()  # a sentence about each of the first files that are left out
    odd_count: int = 0  # how many are left out
    is_current: bool = False  # whether the last update has reached its end


class FolderIndex:
    """The index of one folder; several threads and processes may use it at once.

    It holds nothing open: there is nothing to close.
    """

    def __init__(self, folder: Path, cache: Path) -> None:
        """Name a folder, and the folder for indexes; nothing is opened before it is used."""
        self.folder, self._path = folder, index_file.place(folder, cache)

    def find(self, question: str, before: Sequence[str] = (), most: int = 8) -> list[Passage]:
        """Return the passages that fit a question, best first; none if the folder says nothing.

        It works while an update goes on. `before` is what was said before the question; its words
        count less.
        """
        if self.folder.is_dir():
            with suppress(sqlite3.DatabaseError), closing(index_file.opened(self._path)) as sql:
                return finding.found(sql, self.folder, question, before, most)
        return []

    @property
    def state(self) -> IndexState:
        """What is in the index now."""
        with suppress(sqlite3.DatabaseError), closing(index_file.opened(self._path)) as sql:
            files, odd, passages, is_current = sql.execute(
                "SELECT (SELECT count(*) FROM file WHERE reason = ''), "
                "(SELECT count(*) FROM file WHERE reason <> ''), "
                "(SELECT count(*) FROM passage), current FROM folder"
            ).fetchone()
            rows = sql.execute(
                "SELECT path, reason FROM file WHERE reason <> '' ORDER BY path LIMIT ?", (ODD,)
            )
            named = tuple(f"{self.folder / path} {reason}." for path, reason in rows)
            return IndexState(files, passages, named, odd, bool(is_current))
        return IndexState()
