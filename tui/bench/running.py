"""Have tasks done one after the other, keep what comes of each, and say how far it is."""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from time import monotonic
from types import FrameType
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from assistant.bench.findings import Gauged, Measured
from assistant.bench.runfile import RunFile
from assistant.events import Event, Failed, Loading
from assistant.process.client import EngineProcess
from assistant.request import Gauge, Trial
from models import errors
from models.errors import ContextFull, ModelError, SpecchatError
from tui.safe import safe
from tui.widgets.amounts import duration

LINE_EVERY_S = 30.0
"""Seconds between two lines about how far it is, where there is no terminal."""


@dataclass(frozen=True, slots=True)
class Task:
    """Something to be measured, and how what comes of it is kept."""

    key: str
    what: str  # as a person would say it
    job: Trial | Gauge | Callable[[], Any]
    keep: Callable[[Any], Any]  # hears what came of it; a text says why it came to nothing


class Running:
    """Do what a run file lacks; what is done is on disk before the next begins."""

    def __init__(self, file: RunFile) -> None:
        self._file = file
        self._console = Console(stderr=True, highlight=False, markup=False)
        # A lively spinner would be measured too.
        self._status = self._console.status("starting", refresh_per_second=2)
        self._said = 0.0
        self._interrupted = self._calling = False
        self._events: SimpleQueue[Event] = SimpleQueue()

    def run(self, tasks: Sequence[Task]) -> None:
        """Do them.

        Raises:
            SpecchatError: a model cannot be used, or the engine has died; what was done is kept.
            KeyboardInterrupt: Ctrl-C; what was done is kept.
        """
        left = [task for task in tasks if task.key not in self._file.results]
        if not left:
            return
        if len(left) < len(tasks):
            self._say(f"{len(tasks) - len(left)} of {len(tasks)} are done already")
        try:
            with self._status:
                self._run(left, len(tasks))
        except (KeyboardInterrupt, SpecchatError):
            done = sum(task.key in self._file.results for task in tasks)
            self._say(
                f"{done} of {len(tasks)} are kept. To go on, give the same command with "
                f"--run {self._file.path}"
            )
            raise
        finally:
            self._console.show_cursor()  # an interrupt may come while the spinner begins

    def _run(self, left: Sequence[Task], total: int) -> None:
        needs_engine = any(isinstance(task.job, Trial | Gauge) for task in left)
        engine = EngineProcess(self._events.put) if needs_engine else None
        started = monotonic()
        try:
            with self._interrupts_cancel(engine):
                for done, task in enumerate(left):
                    self._progress(
                        total - len(left) + done, total, task, _left(started, done, left)
                    )
                    self._file.add(task.key, task.keep(self._do(task, engine)))
        finally:
            if engine:
                engine.close()

    def _do(self, task: Task, engine: EngineProcess | None) -> Any:
        if self._interrupted:
            raise KeyboardInterrupt
        if engine is None or not isinstance(task.job, Trial | Gauge):
            assert not isinstance(task.job, Trial | Gauge)
            return self._call(task.job)
        engine.measure(task.job)
        while True:
            match self._events.get():
                case Loading(role, name, fraction):
                    self._status.update(Text(f"loading {role} {safe(name)}: {fraction:.0%}"))
                case (Measured() | Gauged()) as found:
                    return found
                case Failed() if self._interrupted:
                    raise KeyboardInterrupt
                case Failed(message, kind) if kind == ContextFull.__name__:
                    return message
                case Failed(message, kind):
                    raise getattr(errors, kind, ModelError)(message)

    def _call(self, job: Callable[[], Any]) -> Any:
        """Do what is done in this process, where an interrupt ends it at once."""
        self._calling = True
        try:
            return job()
        finally:
            self._calling = False

    @contextmanager
    def _interrupts_cancel(self, engine: EngineProcess | None) -> Iterator[None]:
        """Let Ctrl-C stop the answer under way; a second one does not wait for that."""

        def interrupt(number: int, frame: FrameType | None) -> None:
            if self._interrupted or self._calling or engine is None:
                raise KeyboardInterrupt
            self._interrupted = True
            engine.cancel()

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _progress(self, done: int, total: int, task: Task, left_s: float | None) -> None:
        left = "" if left_s is None else f", about {duration(left_s)} left"
        line = safe(f"{done + 1} of {total}{left}: {task.what}")
        self._status.update(Text(line))
        if not self._console.is_terminal and (not done or monotonic() - self._said > LINE_EVERY_S):
            self._say(line)

    def _say(self, line: str) -> None:
        self._said = monotonic()
        click.echo(safe(line), err=True)


def _left(started: float, done: int, tasks: Sequence[Task]) -> float | None:
    """Return about how many seconds are left; None as long as nobody knows."""
    if not done:
        return None
    return (monotonic() - started) / done * (len(tasks) - done)
