"""Have the engine measure, and show on standard error how far it is."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from time import monotonic
from types import FrameType

import click
from rich.console import Console
from rich.text import Text

from assistant.events import Event, Failed
from assistant.process.client import EngineProcess
from assistant.request import Tune
from assistant.tuning.findings import Measuring, Tuned
from models import errors
from models.files.progress import Progress
from models.files.variants import siblings
from tui.locating import NO_DRAFT, find_models
from tui.safe import safe
from tui.settings import Settings

INTERVAL = 0.5
"""Seconds between two words about how far it is."""


def measure(settings: Settings) -> Tuned:
    """Tune for the pair that the settings ask for.

    Raises:
        SpecchatError: the models cannot be used, or what was found cannot be kept.
        KeyboardInterrupt: Ctrl-C; nothing was kept.
    """
    return _Tuning(settings).run()


class _Tuning:
    """One tuning, in the engine's process: what makes llama.cpp give up does not end this one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._console = Console(stderr=True, highlight=False, markup=False)
        # A lively spinner would be measured too.
        self._status = self._console.status("looking for the models", refresh_per_second=2)
        self._what, self._said = "", 0.0
        self._interrupted = False
        self._events: SimpleQueue[Event] = SimpleQueue()

    def run(self) -> Tuned:
        """Have it done."""
        try:
            with self._status:
                return self._run()
        finally:
            self._console.show_cursor()  # an interrupt may come while the spinner begins

    def _run(self) -> Tuned:
        engine = EngineProcess(self._events.put)  # it starts while the models are looked for
        try:
            setup, no_draft = find_models(self._settings, self._checking)
            if no_draft and self._settings.draft != NO_DRAFT:
                click.echo(safe(no_draft), err=True)
            with self._interrupts_cancel(engine):
                engine.tune(Tune(setup, tuple(siblings(setup.target))))
                return self._result()
        finally:
            engine.close()

    def _result(self) -> Tuned:
        while True:
            match self._events.get():
                case Measuring(what, fraction, left_s):
                    self._show(what, fraction, left_s)
                case Tuned() as tuned:
                    return tuned
                case Failed() if self._interrupted:
                    raise KeyboardInterrupt
                case Failed(message, kind):
                    raise getattr(errors, kind)(message)

    @contextmanager
    def _interrupts_cancel(self, engine: EngineProcess) -> Iterator[None]:
        """Let Ctrl-C stop the engine, which leaves nothing half-written; a second one raises."""

        def interrupt(number: int, frame: FrameType | None) -> None:
            if self._interrupted:
                raise KeyboardInterrupt
            self._interrupted = True
            engine.cancel()

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _checking(self, progress: Progress) -> None:
        share = progress.done / progress.total if progress.total else 0.0
        self._status.update(Text(f"checking the model files: {share:.0%}"))

    def _show(self, what: str, fraction: float, left_s: float | None) -> None:
        """Say how far it is: now and then on a terminal, elsewhere when something new begins."""
        is_new = what != self._what
        if not is_new and (not self._console.is_terminal or monotonic() - self._said < INTERVAL):
            return
        self._what, self._said = what, monotonic()
        left = "" if left_s is None else f", about {_duration(left_s)} left"
        line = safe(f"measuring {what}: {fraction:.0%}{left}")
        self._status.update(Text(line))
        if not self._console.is_terminal:
            click.echo(line, err=True)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
