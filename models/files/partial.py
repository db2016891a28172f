"""A partial download: the bytes so far, and a journal of what is known about them. Both survive a
kill. A partial file never has a name that looks like a model's.
"""

import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import BinaryIO

from models.files.disk import read_json, write_json

_SUFFIX = ".specchat-part"
_STALE_S = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Journal:
    """What is known about the downloaded bytes."""

    etag: str | None = None  # lets the server say whether its file has changed
    ends: tuple[int, ...] = ()  # where each finished part of a mirrored file ends


class Partial:
    """The bytes of `place` before they are complete."""

    def __init__(self, place: Path) -> None:
        self.path = place.with_name(place.name + _SUFFIX)
        self.scratch = place.with_name(place.name + _SUFFIX + ".d")
        self._journal = place.with_name(place.name + _SUFFIX + ".json")

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def journal(self) -> Journal:
        """The last journal; empty if it is missing or unreadable."""
        return read_json(self._journal, Journal) or Journal()

    def note(self, journal: Journal) -> None:
        """Replace the journal in one step."""
        write_json(self._journal, journal)

    def open_at(self, length: int) -> BinaryIO:
        """Open for writing after the first `length` bytes; the rest is dropped."""
        file = open(self.path, "r+b" if self.path.exists() else "w+b")  # noqa: SIM115 - the caller closes it
        file.truncate(length)
        file.seek(length)
        return file

    def fresh_scratch(self) -> Path:
        """Return an empty folder next to the file, on the same disk. Its name is new each time: a
        process that a killed pull left running may still write to the old one.
        """
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True, exist_ok=True)
        return Path(mkdtemp(dir=self.scratch))

    def move_to(self, place: Path) -> None:
        """Put the complete file in its place, in one step."""
        with self.path.open("rb") as file:
            os.fsync(file.fileno())
        self.path.replace(place)
        self.remove()

    def remove(self) -> None:
        """Forget everything."""
        self.path.unlink(missing_ok=True)
        self._journal.unlink(missing_ok=True)
        shutil.rmtree(self.scratch, ignore_errors=True)


def remove_stale(folder: Path) -> None:
    """Remove downloads that were not resumed for a week."""
    for path in folder.glob(f"*{_SUFFIX}"):
        partial = Partial(path.with_name(path.name.removesuffix(_SUFFIX)))
        if time.time() - path.stat().st_mtime > _STALE_S:
            partial.remove()
