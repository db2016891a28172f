"""Downloads of models, one at a time, with progress, speed and remaining time."""

from dataclasses import dataclass
from functools import partial
from threading import Thread
from time import monotonic

from textual import on
from textual.containers import Vertical
from textual.eta import ETA
from textual.message import Message
from textual.widgets import ProgressBar, Static

from models import catalog
from models.catalog import GGUF
from models.errors import Cancelled, SpecchatError
from models.progress import CancelFlag, Progress, raise_if_cancelled
from tui.formatting import duration, size
from tui.safe import safe

OFFLINE = "Nothing is fetched while --offline, or offline in config.toml, is set."
REPORT_EVERY_S = 0.1
SPEED_OVER_S = 10.0
"""Seconds over which the speed is averaged."""


class Downloads(Vertical):
    """Fetch models on a thread, show the progress, and post `Ended`."""

    DEFAULT_CSS = """
    Downloads {
        display: none; height: auto; padding: 0 1; border-top: solid $border-blurred;

        & Static { height: auto; }
        & ProgressBar, & Bar { width: 1fr; }
        & .figures { color: $text-muted; }
        & .notice { color: $text-warning; display: none; }
    }
    """

    @dataclass
    class Arrived(Message):
        """A part of a file has arrived."""

        what: str
        progress: Progress

    @dataclass
    class Ended(Message):
        """All files have arrived, or a download failed or was stopped."""

        name: str  # of the first file
        then_use: bool
        failure: str = ""

    def __init__(self, offline: bool) -> None:
        self._what = Static("", markup=False)
        self._bar = ProgressBar(show_eta=False, show_percentage=True)
        self._figures = Static(classes="figures", markup=False)
        self._notice = Static(classes="notice", markup=False)
        super().__init__(self._what, self._bar, self._figures, self._notice)
        self._offline = offline
        self._speed = ETA(SPEED_OVER_S)
        self._cancel = CancelFlag()
        self._thread: Thread | None = None
        self._reported = 0.0

    @property
    def can_start(self) -> bool:
        """Whether a download may start."""
        return not self._offline and self._thread is None

    def start(self, files: tuple[GGUF, ...], then_use: bool) -> str:
        """Start fetching files, the target first; return why that is impossible, or nothing."""
        if self._offline:
            return OFFLINE
        if self._thread is not None:
            return "One download at a time; Esc stops the current one."
        self._speed.reset()
        self._cancel = CancelFlag()
        self._what.update("")
        self._bar.update(total=None, progress=0)
        self._figures.update("Connecting …")
        self._notice.display, self.display = False, True
        self._thread = Thread(target=self._fetch, args=(files, then_use), name="fetch", daemon=True)
        self._thread.start()
        return ""

    def stop(self) -> bool:
        """Cancel the download, keeping its partial file; return whether there was one."""
        self._cancel.raise_()
        return self._thread is not None

    def on_unmount(self) -> None:
        """Cancel the download."""
        self.stop()

    def _fetch(self, files: tuple[GGUF, ...], then_use: bool) -> None:
        from models.files.pull import pull  # it imports the network libraries
        from models.slim import slim_draft

        end = self.Ended(files[0].name, then_use)
        try:
            for number, gguf in enumerate(files, 1):
                report = partial(self._report, f"{number} of {len(files)}: {gguf.file}")
                pull(gguf.name, progress=report)
            if catalog.DEFAULT.target in files:
                slim_draft.default_draft(partial(self._report, catalog.DEFAULT.draft.file))
        except Cancelled:
            end.failure = "Stopped. Whole parts are kept; the next pull resumes after them."
        except SpecchatError as error:
            end.failure = str(error)
        self.post_message(end)

    def _report(self, what: str, progress: Progress) -> None:
        raise_if_cancelled(self._cancel)
        now, is_complete = monotonic(), progress.done == progress.total
        if now - self._reported >= REPORT_EVERY_S or is_complete or progress.warning:
            self._reported = now
            self.post_message(self.Arrived(what, progress))

    @on(Ended)
    def _end(self) -> None:
        self._thread, self.display = None, False

    @on(Arrived)
    def _show(self, message: Arrived) -> None:
        """Show the progress of a file; a notice stays until the next download."""
        progress = message.progress
        if progress.warning:
            self._notice.update(safe(progress.warning))
            self._notice.display = True
            return
        self._speed.add_sample(monotonic(), progress.done)
        self._what.update(safe(message.what))
        self._bar.update(total=progress.total or None, progress=progress.done)
        self._figures.update(safe(figures(progress, self._speed.speed or 0.0)))


def figures(progress: Progress, speed: float) -> str:
    """Return the progress, the speed and the remaining time in one line."""
    parts = [progress.note] if progress.note else []
    if progress.total:
        parts.append(f"{size(progress.done)} of {size(progress.total)}")
    if speed > 0:
        parts.append(f"{size(speed)}/s")
        if progress.total > progress.done:
            parts.append(f"{duration((progress.total - progress.done) / speed)} left")
    return " · ".join(parts)
