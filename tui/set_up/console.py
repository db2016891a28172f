"""Say what is being done, how much of it is done and how long it takes: a line for each step."""

from __future__ import annotations

import shutil
import sys
from time import monotonic

LINE_EVERY_S = 15.0
"""Seconds between two lines of a step where a line cannot be rewritten."""
SOON_S, EARLY = 10.0, 0.05
"""Seconds and share of a step before which nobody knows how long it will take."""


class ProgressStep:
    """One line on a terminal, rewritten as the step proceeds; elsewhere a line now and then."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._begun = self._said = monotonic()
        self._write(f"{title} ...")

    def tell(self, what: str, done: float | None = None, meanwhile: str = "") -> None:
        """Say how far it is; `done` is the share that is, from which the time left is told."""
        parts = filter(None, (what, left(monotonic() - self._begun, done), meanwhile))
        if sys.stdout.isatty() or monotonic() - self._said > LINE_EVERY_S:
            self._write(f"{self.title}: {', '.join(parts)}")

    def end(self, result: str = "done") -> None:
        """Say what came of it, and how long it took."""
        self._write(f"{self.title}: {result} ({duration(monotonic() - self._begun)})")
        self.leave()

    def leave(self) -> None:
        """Let what is said next begin on a line of its own."""
        if sys.stdout.isatty():
            print(flush=True)

    def _write(self, line: str) -> None:
        self._said = monotonic()
        if sys.stdout.isatty():
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[2K{line[:width]}", end="", flush=True)
        else:
            print(line, flush=True)


def left(elapsed: float, done: float | None) -> str:
    """Return how long a step will still take, by what has been done of it since; "" at first."""
    if not done or elapsed < SOON_S or done < EARLY:
        return ""
    return f"about {duration(elapsed / done * (1 - done))} left"


def duration(seconds: float) -> str:
    """Return seconds as people say them."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
