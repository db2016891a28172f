"""The engine of a shell command: its events, its progress, and Ctrl-C."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from assistant.events import Failed, Loading
from assistant.process.client import EngineProcess
from assistant.process.protocol import CHAT, Protocol
from assistant.request import AnyJob, Setup
from models import errors
from models.files.progress import Progress, Report
from tui.safe import safe
from tui.settings.settings import Settings
from tui.widgets.text_figures import left


class Stopped(KeyboardInterrupt):
    """The engine was stopped with Ctrl-C before its job was done."""


class EngineConsole:
    """Run an engine, and show on standard error what it does.

    It lives in a separate process: what makes llama.cpp give up does not end this one.
    """

    def __init__(self, doing: str, lively: bool = False, protocol: Protocol = CHAT) -> None:
        self.console = Console(stderr=True, highlight=False, markup=False)
        # An animated spinner would be measured too.
        self._status = self.console.status(doing, refresh_per_second=12.5 if lively else 2)
        self.interrupted = False
        """Whether Ctrl-C was pressed while the answer was saved."""
        self.keeps = False
        """Whether Ctrl-C only has the engine stop, to keep what there is; a second one raises."""
        self._what = ""
        self._protocol = protocol
        self._engine: EngineProcess | None = None
        self.cancel: Callable[[], None] | None = None
        """Ends what was begun last: Ctrl-C calls it."""

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show what is done, and end the engine afterwards, whatever ends this."""
        try:
            with self._status:
                try:
                    with self._interrupts_heard():
                        yield
                finally:
                    if self._engine is not None:
                        self._engine.close()
                        self._engine = None
        finally:
            self.console.show_cursor()  # an interrupt may come while the spinner begins

    def start(self) -> EngineProcess:
        """Return the engine; its process, which takes a while, starts when this is first called."""
        if self._engine is None:
            self._engine = EngineProcess(protocol=self._protocol)
        return self._engine

    def run(
        self, job: AnyJob, hear: Callable[[Any], None] | None = None, keeps: bool = True
    ) -> Any:
        """Have a job done, and return its last event.

        `hear` is told of all events. `keeps` says whether Ctrl-C meanwhile, and from then on, has
        the engine stop; a second one raises in any case.

        Raises:
            SpecchatError: it failed.
            Stopped: Ctrl-C was pressed, and nothing more comes.
        """
        self.keeps = keeps
        events: SimpleQueue[Any] = SimpleQueue()
        self.cancel = self.start().submit(job, events.put).cancel
        if self.interrupted:
            self.cancel()
        end = None
        while (event := events.get()) is not None:
            end = event
            if hear is not None:
                hear(event)
            if isinstance(event, Loading):
                self.say(f"loading {event.role} {event.name}: {event.fraction:.0%}")
        if isinstance(end, Failed):
            raise Stopped if self.interrupted else getattr(errors, end.kind)(end.message)
        return end

    def pair(self, settings: Settings) -> Setup:
        """Find the models that the settings ask for, and say it where the draft is missing.

        Raises:
            SpecchatError: the target cannot be used.
        """
        from tui.models.locate_pair import NO_DRAFT, find_models  # after the process has started

        setup, no_draft = find_models(settings, self.checking)
        if no_draft and settings.draft != NO_DRAFT:
            click.echo(safe(no_draft), err=True)
        return setup

    def checking(self, progress: Progress) -> None:
        """Say how far the check of the model files is."""
        self.say(_checking(progress))

    def measuring(self, what: str, fraction: float, left_s: float | None) -> None:
        """Say how far it is; where there is no terminal, when something new begins."""
        self.say(f"{what}: {fraction:.0%}{left(left_s)}", aloud=what != self._what)
        self._what = what

    def say(self, what: str, aloud: bool = False) -> None:
        """Say what is done; where there is no terminal, only if it is worth a line."""
        self._status.update(Text(safe(what)))
        if aloud and not self.console.is_terminal:
            click.echo(safe(what), err=True)

    def hush(self) -> None:
        """Stop showing progress."""
        self._status.stop()

    @contextmanager
    def _interrupts_heard(self) -> Iterator[None]:
        before = signal.signal(signal.SIGINT, self._interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted or not self.keeps:
            raise KeyboardInterrupt
        self.interrupted = True
        if self.cancel is not None:
            self.cancel()


@contextmanager
def looking() -> Iterator[Report]:
    """Show that models are looked for, and how far the check of their files is."""
    with Console(stderr=True).status("looking for the models") as status:
        yield lambda progress: status.update(Text(_checking(progress)))


def _checking(progress: Progress) -> str:
    share = progress.done / progress.total if progress.total else 0.0
    return f"checking the model files: {share:.0%}"
