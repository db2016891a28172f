"""How far a download is, how fast it goes and how long it will take."""

from collections import deque
from time import monotonic

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import ProgressBar, Static

from models.catalog import GGUF
from models.files.progress import Progress
from tui.models.fetcher import Fetched, Fetcher, FetchFailed, Fetching
from tui.safe import safe
from tui.widgets.text_figures import duration, size

WINDOW = 10.0
"""Seconds over which the speed is taken."""


class TransferSpeed:
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

    DEFAULT_CSS = """
    Fetch {
        display: none;
        height: auto;
        padding: 0 1;
        border-top: solid $panel-lighten-2;

        & Static { height: auto; }
        & ProgressBar, & Bar { width: 1fr; }
        & .figures { color: $text-muted; }
        & .notice { color: $text-warning; display: none; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._what = Static("", markup=False)
        self._bar = ProgressBar(show_eta=False, show_percentage=True)
        self._figures = Static("Connecting …", classes="figures", markup=False)
        self._notice = Static("", classes="notice", markup=False)
        self._pace = TransferSpeed()
        self._fetcher: Fetcher | None = None

    def compose(self) -> ComposeResult:
        """Lay out what is fetched, the bar and the figures."""
        yield self._what
        yield self._bar
        yield self._figures
        yield self._notice

    @property
    def running(self) -> bool:
        """Whether something is being fetched."""
        return self._fetcher is not None

    def start(self, files: tuple[GGUF, ...]) -> None:
        """Fetch files; ends in `Fetched` or `FetchFailed`, which the screen hears too."""
        self._pace = TransferSpeed()
        self._fetcher = Fetcher(files, self.post_message)
        self._fetcher.start()
        self.display = True
        self._what.update("")
        self._bar.update(total=None, progress=0)
        self._figures.update("Connecting …")
        self._notice.display = False

    def stop(self) -> None:
        """Stop soon; what has arrived is kept."""
        if self._fetcher is not None:
            self._fetcher.stop()

    def on_unmount(self) -> None:
        """Leave no download behind."""
        self.stop()

    @on(Fetching)
    def _progress(self, message: Fetching) -> None:
        self.show(message.what, message.progress)

    @on(Fetched)
    @on(FetchFailed)
    def _end(self) -> None:
        self._fetcher, self.display = None, False

    def show(self, what: str, progress: Progress) -> None:
        """Show how far the download of a file is; a notice stays until the next download."""
        if progress.notice:
            self._notice.update(safe(progress.notice))
            self._notice.display = True
            return
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
