"""Fetch models on a thread, and tell a screen about it."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Thread
from time import monotonic

from textual.message import Message

from models.cancel import CancelFlag
from models.catalog import GGUF
from models.errors import Cancelled, SpecchatError
from models.files.progress import Progress

INTERVAL = 0.1
"""Seconds between two reports: a screen needs no more."""


@dataclass
class Fetching(Message):
    """A part of a file has arrived."""

    what: str
    progress: Progress


class Fetched(Message):
    """Everything is here."""


@dataclass
class FetchFailed(Message):
    """A download came to nothing, or was stopped."""

    reason: str


class Fetcher(Thread):
    """Fetch some files, one after the other; ends in `Fetched` or `FetchFailed`."""

    def __init__(self, files: tuple[GGUF, ...], tell: Callable[[Message], object]) -> None:
        super().__init__(name="fetch", daemon=True)
        self._files = files
        self._tell = tell
        self._cancel = CancelFlag()
        self._what = ""
        self._told = 0.0

    def stop(self) -> None:
        """Stop soon; what has arrived is kept."""
        self._cancel.raise_()

    def run(self) -> None:
        """Fetch, reporting progress."""
        from models.files.pull import pull  # brings the network libraries along

        try:
            for number, gguf in enumerate(self._files, 1):
                self._what = f"{number} of {len(self._files)}: {gguf.file}"
                self._told = 0.0
                pull(gguf.name, progress=self._report, cancel=self._cancel)
            self._tell(Fetched())
        except Cancelled:
            self._tell(
                FetchFailed("Stopped. What has arrived is kept; fetching goes on from there.")
            )
        except SpecchatError as error:
            self._tell(FetchFailed(str(error)))

    def _report(self, progress: Progress) -> None:
        now = monotonic()
        if now - self._told >= INTERVAL or progress.done == progress.total or progress.notice:
            self._told = now
            self._tell(Fetching(self._what, progress))
