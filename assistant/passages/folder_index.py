"""What is known of a folder: its passages, found by a question."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from assistant.passages.passage import Passage


class OddFile(NamedTuple):
    """A file that is left out."""

    path: Path
    reason: str  # why, as the end of a sentence: binary, larger than 8 MB, ...


class IndexState(NamedTuple):
    """What an index holds."""

    files: int  # that were read
    passages: int
    odd: tuple[OddFile, ...]  # the first of those left out
    odd_count: int  # how many are left out
    is_current: bool  # whether the last update has reached its end


class FolderIndex:
    """The index of one folder; several threads and processes may use it at once.

    It holds nothing open: there is nothing to close.
    """

    def __init__(self, folder: Path, cache: Path) -> None:
        """Name a folder, and the folder for indexes; nothing is opened before it is used."""
        self.folder, self._cache = folder, cache

    def find(
        self, question: str, before: Sequence[str] = (), most: int = 8
    ) -> list[Passage]:
        """Return the passages that fit a question, best first; none if the folder says nothing.

        It works while an update goes on. `before` is what was said before the question; its words
        count less.
        """
        return []

    @property
    def state(self) -> IndexState:
        """What is in the index now."""
        return IndexState(0, 0, (), 0, False)
