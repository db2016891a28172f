"""Progress on standard error: a bar on a terminal, elsewhere a line now and then."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import click
from rich import progress as meters
from rich.console import Console

from models.progress import Progress, Report
from tui.safe import safe

_LINE_EVERY_S = 10.0


@contextmanager
def meter(name: str) -> Iterator[Report]:
    """Yield a callback for progress."""
    if not sys.stderr.isatty():
        yield _Lines(name)
        return
    with meters.Progress(
        meters.TextColumn("{task.description}", markup=False),
        meters.BarColumn(),
        meters.DownloadColumn(),
        meters.TransferSpeedColumn(),
        meters.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bars:
        yield _Bar(name, bars)


class _Bar:
    """A bar; each activity has a new one, so that speeds do not mix."""

    def __init__(self, name: str, bars: meters.Progress) -> None:
        self._name, self._bars = safe(name), bars
        self._note, self._task = "", meters.TaskID(0)

    def __call__(self, progress: Progress) -> None:
        if progress.warning:
            self._bars.console.print(safe(progress.warning), markup=False, highlight=False)
        elif progress.note != self._note:
            if self._note:
                self._bars.remove_task(self._task)
            self._note = progress.note
            title, total = f"{self._name} · {safe(progress.note)}", progress.total or None
            self._task = self._bars.add_task(title, total=total, completed=progress.done)
        else:
            self._bars.update(self._task, completed=progress.done, total=progress.total or None)


class _Lines:
    """A line when an activity starts, and one now and then."""

    def __init__(self, name: str) -> None:
        self._name, self._note, self._printed_at = safe(name), "", 0.0

    def __call__(self, progress: Progress) -> None:
        if progress.warning:
            click.echo(safe(progress.warning), err=True)
        elif progress.note != self._note or monotonic() - self._printed_at > _LINE_EVERY_S:
            self._note, self._printed_at = progress.note, monotonic()
            share = f" {progress.done / progress.total:.0%}" if progress.total else ""
            click.echo(f"{self._name} · {safe(progress.note)}{share}", err=True)
