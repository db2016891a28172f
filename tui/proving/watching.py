"""Have the engine prove it, and show on standard error how far it is."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from time import monotonic
from types import FrameType

import click
from rich.console import Console
from rich.text import Text

from assistant.events import Event, Failed, Loading
from assistant.process.client import EngineProcess
from assistant.proving.findings import Check, Proved
from assistant.request import Prove, Sampling
from assistant.tuning.findings import Measuring
from models import errors
from models.errors import SpecchatError
from models.files.progress import Progress
from tui.locating import NO_DRAFT, find_models
from tui.safe import safe
from tui.settings import Settings
from tui.widgets.amounts import duration

INTERVAL = 0.5
"""Seconds between two words about how far it is."""
BROKEN, INTERRUPTED = 1, 130


@dataclass(slots=True)
class Outcome:
    """What came of it, as far as it came."""

    sampling: Sampling
    thorough: bool
    checks: list[Check] = field(default_factory=list)
    proved: Proved | None = None  # None: it was stopped, or failed
    interrupted: bool = False
    error: SpecchatError | None = None

    @property
    def broken(self) -> list[Check]:
        """What does not hold."""
        return [check for check in self.checks if check.holds is False]

    @property
    def exit_code(self) -> int:
        """What the command's end says."""
        return BROKEN if self.broken else INTERRUPTED if self.interrupted else 0


def watch(settings: Settings, thorough: bool) -> Outcome:
    """Prove it for the pair that the settings ask for.

    Raises:
        SpecchatError: the models cannot be found.
        KeyboardInterrupt: Ctrl-C before anything was compared, or twice.
    """
    return _Proving(settings, thorough).run()


class _Proving:
    """One proof, in the engine's process: what makes llama.cpp give up does not end this one."""

    def __init__(self, settings: Settings, thorough: bool) -> None:
        self._settings = settings
        self._console = Console(stderr=True, highlight=False, markup=False)
        self._status = self._console.status("looking for the models", refresh_per_second=2)
        self._what, self._said = "", 0.0
        self._outcome = Outcome(settings.sampling, thorough)
        self._events: SimpleQueue[Event] = SimpleQueue()

    def run(self) -> Outcome:
        """Have it done."""
        try:
            with self._status:
                self._run()
        finally:
            self._console.show_cursor()  # an interrupt may come while the spinner begins
        return self._outcome

    def _run(self) -> None:
        settings = self._settings
        engine = EngineProcess(self._events.put)  # it starts while the models are looked for
        try:
            setup, no_draft = find_models(settings, self._checking)
            if no_draft and settings.draft != NO_DRAFT:
                click.echo(safe(no_draft), err=True)
            with self._interrupts_cancel(engine):
                engine.prove(
                    Prove(
                        setup,
                        settings.sampling,
                        settings.lookahead or None,
                        settings.seed or 0,
                        self._outcome.thorough,
                    )
                )
                self._listen()
        finally:
            engine.close()

    def _listen(self) -> None:
        """Take in what the engine says, until it says how it ended."""
        while True:
            match self._events.get():
                case Measuring(what, fraction, left_s):
                    self._show(what, fraction, left_s)
                case Loading(role, name):
                    self._status.update(Text(safe(f"loading the {role} {name}")))
                case Check() as check:
                    self._outcome.checks.append(check)
                case Proved() as proved:
                    self._outcome.proved = proved
                    return
                case Failed() if self._outcome.interrupted:
                    return
                case Failed(message, kind):
                    self._outcome.error = getattr(errors, kind)(message)
                    return

    @contextmanager
    def _interrupts_cancel(self, engine: EngineProcess) -> Iterator[None]:
        """Let Ctrl-C stop the engine and keep what was found; a second one raises."""

        def interrupt(number: int, frame: FrameType | None) -> None:
            if self._outcome.interrupted:
                raise KeyboardInterrupt
            self._outcome.interrupted = True
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
        left = "" if left_s is None else f", about {duration(left_s)} left"
        line = safe(f"comparing {what}: {fraction:.0%}{left}")
        self._status.update(Text(line))
        if not self._console.is_terminal:
            click.echo(line, err=True)
