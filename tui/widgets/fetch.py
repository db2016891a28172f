"""How far a download is, how fast it goes and how long it will take."""

from collections import deque
from time import monotonic

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import ProgressBar, Static

from models.files.progress import Progress
from tui.safe import safe
from tui.widgets.amounts import duration, size

WINDOW = 10.0
"""Seconds over which the speed is taken."""


class Pace:
    """The speed of the last few seconds, which says more about the next ones than the average."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def add(self, done: int, now: float) -> None:
        """Note that `done` bytes are here; fewer than before means that something new began."""
        if self._seen and done < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[0][0] > WINDOW:
            self._seen.popleft()

    @property
    def speed(self) -> float:
        """Bytes a second; 0 while unknown."""
        if len(self._seen) < 2:
            return 0.0
        (then, before), (now, after) = self._seen[0], self._seen[-1]
        return (after - before) / (now - then) if now > then else 0.0


class Fetch(Vertical):
    """Show a download."""

    def __init__(self) -> None:
        super().__init__(id="fetch")
        self._what = Static("", markup=False)
        self._bar = ProgressBar(show_eta=False, show_percentage=True)
        self._figures = Static("Connecting …", classes="figures", markup=False)
        self._pace = Pace()

    def compose(self) -> ComposeResult:
        """Lay out what is fetched, the bar and the figures."""
        yield self._what
        yield self._bar
        yield self._figures

    def show(self, what: str, progress: Progress) -> None:
        """Show how far the download of a file is."""
        self._pace.add(progress.done, monotonic())
        self._what.update(safe(what))
        self._bar.update(total=progress.total or None, progress=progress.done)
        self._figures.update(safe(figures(progress, self._pace.speed)))


def figures(progress: Progress, speed: float) -> str:
    """Return what there is to know about a download, in one line."""
    parts = [progress.note] if progress.note else []
    if progress.total:
        parts.append(f"{size(progress.done)} of {size(progress.total)}")
    if speed > 0:
        parts.append(f"{size(speed)}/s")
        if progress.total > progress.done:
            parts.append(f"{duration((progress.total - progress.done) / speed)} left")
    return " · ".join(parts)
