"""What is known of a folder: its passages, found by a question."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from assistant.passages import finding, index_file
from assistant.passages.passage import Passage


class IndexState(NamedTuple):
    """What an index holds."""

    files: int  # that were read
    passages: int
    odd: tuple[str, ...]  # a sentence about each of the first files that are left out
    odd_count: int  # how many are left out
    is_current: bool  # whether the last update has reached its end


class FolderIndex:
    """The index of one folder; several threads and processes may use it at once.

    It holds nothing open: there is nothing to close.
    """

    def __init__(self, folder: Path, cache: Path) -> None:
        """Name a folder, and the folder for indexes; nothing is opened before it is used."""
        self.folder = folder
        self._path = index_file.place(folder, cache)

    def find(self, question: str, before: Sequence[str] = (), most: int = 8) -> list[Passage]:
        """Return the passages that fit a question, best first; none if the folder says nothing.

        It works while an update goes on. `before` is what was said before the question; its words
        count less.
        """
        with index_file.reading(self._path) as sql:
            if sql is None or not self.folder.is_dir():
                return []
            return finding.found(sql, self.folder, question, before, most)

    @property
    def state(self) -> IndexState:
        """What is in the index now."""
        with index_file.reading(self._path) as sql:
            if sql is None:
                return IndexState(0, 0, (), 0, False)
            files, odd, passages, is_current = sql.execute(
                "SELECT (SELECT count(*) FROM file WHERE reason = ''), "
                "(SELECT count(*) FROM file WHERE reason <> ''), "
                "(SELECT count(*) FROM passage), current FROM folder"
            ).fetchone()
            rows = sql.execute(
                "SELECT path, reason FROM file WHERE reason <> '' ORDER BY path LIMIT ?",
                (index_file.ODD,),
            )
            named = tuple(f"{self.folder / path} {reason}." for path, reason in rows)
        return IndexState(files, passages, named, odd, bool(is_current))
