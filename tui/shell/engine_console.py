"""The engine of a shell command: its events, its progress, and Ctrl-C."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from assistant.events import Failed, Loading, Prefilled
from assistant.process.engine_process import EngineProcess
from assistant.process.wire import CHAT, Protocol
from assistant.request import AnyJob, EngineArgs
from assistant.service import EventStream
from assistant.settings.settings import Settings
from models import errors
from models.progress import Progress
from tui.figures import counted, model_name
from tui.safe import safe
from tui.widgets.text_figures import left

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status


T = TypeVar("T")


class Stopped(KeyboardInterrupt):
    """The engine was stopped with Ctrl-C before its job was done."""


class EngineConsole:
    """Run an engine, and show on standard error what it does.

    It lives in a separate process: what makes llama.cpp give up does not end this one.
    """

    def __init__(self, doing: str, protocol: Protocol = CHAT) -> None:
        self._doing, self._measures = doing, protocol is not CHAT
        self.interrupted = False
        """Whether Ctrl-C was pressed while the answer was saved."""
        self.keeps = False
        """Whether Ctrl-C only has the engine stop, to keep what there is; a second one raises."""
        self.closing: list[Callable[[], Awaitable[None]]] = []
        """What is to be closed with the engine."""
        self._what = ""
        self._loop = asyncio.Runner()
        self.engine = EngineProcess(protocol=protocol)
        """Does the jobs; it is used in the loop of `wait`."""
        self._following: asyncio.Task[Any] | None = None
        self._cancel: Callable[[], object] | None = None  # ends what was begun last

    @cached_property
    def console(self) -> "Console":
        """Standard error."""
        from rich.console import Console  # while the engine starts

        return Console(stderr=True, highlight=False, markup=False)

    @cached_property
    def _status(self) -> "Status":
        # An animated spinner would be measured too.
        return self.console.status(self._doing, refresh_per_second=2 if self._measures else 12.5)

    @contextmanager
    def shown(self, starts: bool = False) -> Iterator[None]:
        """Show what is done, and end the engine afterwards, whatever ends this.

        With `starts` the engine's process starts first: it takes longer than all other imports.
        """
        try:
            with self._interrupts_heard():
                self._loop.get_loop().set_exception_handler(_unless_cancelled)
                if starts:
                    self._loop.run(self.engine.start())
                with self._status:
                    yield
        finally:
            self.console.show_cursor()  # an interrupt may come while the spinner begins
            self._cancel = None
            with self._loop:
                self._loop.run(self._close())

    def run(
        self, job: AnyJob, handle: Callable[[Any], None] | None = None, keeps: bool = True
    ) -> Any:
        """Have a job done, and return its last event.

        `handle` is told of all events. `keeps` says whether Ctrl-C meanwhile, and from then on, has
        the engine stop; a second one raises in any case.

        Raises:
            SpecchatError: it failed.
            Stopped: Ctrl-C was pressed, and nothing more comes.
        """
        self.keeps = keeps
        end = self.wait(self._followed(job, handle))
        if isinstance(end, Failed):
            raise self.error(end)
        return end

    async def _followed(self, job: AnyJob, handle: Callable[[Any], None] | None) -> Any:
        """Return the last event of a job."""
        stream, end = self.do(job), None
        self.stop_with(stream.cancel)
        async for event in stream:
            end = event
            if handle is not None:
                handle(event)
            if isinstance(event, Loading):
                self.loading(event)
        return end

    def wait(self, doing: Coroutine[Any, Any, T]) -> T:
        """Return what comes of a coroutine, which may have jobs done."""

        async def follow() -> T:
            self._following = asyncio.current_task()
            return await doing

        return self._loop.run(follow())

    def do(self, job: AnyJob) -> EventStream:
        """Have a job done; after Ctrl-C, have it stop at once. Called while `wait` waits."""
        stream = self.engine.do(job)
        if self.interrupted:
            stream.cancel()
        return stream

    def stop_with(self, stop: Callable[[], None]) -> None:
        """Call this at Ctrl-C from now on, in the loop of `wait`."""
        self._cancel = partial(asyncio.get_running_loop().call_soon_threadsafe, stop)

    def error(self, end: Failed) -> BaseException:
        """Return what is raised of a job that failed."""
        return Stopped() if self.interrupted else getattr(errors, end.kind)(end.message)

    def loading(self, event: Loading) -> None:
        """Say how much of a model is loaded."""
        loaded = f"loading {{}}: {event.fraction:.0%}" if event.fraction < 1 else "preparing {}"
        self.say(loaded.format(model_name(event.name)))

    def reading(self, what: str, event: Prefilled) -> None:
        """Say how much of a prompt has been read, and by which model."""
        who = "the model" if event.role == "target" else "the guessing model"
        self.say(f"{who} reads {what}: {event.done:,} of {counted(event.total, 'token')}")

    def give_up(self) -> None:
        """End what `wait` waits for, which raises CancelledError."""
        if self._following is not None:
            self._following.cancel()

    async def _close(self) -> None:
        """Free the models; what an interrupt has left is heard by nobody."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        for close in self.closing:
            await close()
        await self.engine.close()

    def pair(self, settings: Settings) -> EngineArgs:
        """Find the models that the settings ask for, and say it where the draft is missing.

        Raises:
            SpecchatError: the target cannot be used, or the draft to be measured is missing.
        """
        setup, no_draft = settings.setup(self.checking)
        report_missing_draft(no_draft, settings, is_measured=self._measures)
        return setup

    def checking(self, progress: Progress) -> None:
        """Say how far the check of the model files is."""
        share = progress.done / progress.total if progress.total else 0.0
        self.say(f"checking the model files: {share:.0%}")

    def measuring(self, what: str, fraction: float, left_s: float | None) -> None:
        """Say how far it is; where there is no terminal, when something new begins."""
        self.say(f"{what}: {fraction:.0%}{left(left_s)}", aloud=what != self._what)
        self._what = what

    def say(self, what: str, aloud: bool = False) -> None:
        """Say what is done; where there is no terminal, only if it is worth a line."""
        from rich.text import Text

        self._status.update(Text(safe(what)))
        if aloud and not self.console.is_terminal:
            click.echo(safe(what), err=True)

    def hush(self) -> None:
        """Stop showing progress."""
        self._status.stop()

    @contextmanager
    def _interrupts_heard(self) -> Iterator[None]:
        heard = {signal.SIGINT: self._interrupt, signal.SIGTSTP: self._pause}
        before = {number: signal.signal(number, heard[number]) for number in heard}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted or not self.keeps:
            raise KeyboardInterrupt
        self.interrupted = True
        if self._cancel is not None:
            self._cancel()

    def _pause(self, number: int, frame: FrameType | None) -> None:
        """Stop, as Ctrl-Z wants it, with the cursor shown."""
        self.console.show_cursor()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, self._pause)


def report_missing_draft(no_draft: str | None, settings: Settings, is_measured: bool) -> None:
    """Print why there is no draft, unless none is wanted.

    Raises:
        ModelError: the settings name a draft that is to be measured.
    """
    from models.drafts import NO_DRAFT  # after the process has started

    if no_draft and settings.draft != NO_DRAFT:
        if settings.draft and is_measured:
            raise errors.ModelError(no_draft)
        click.echo(safe(no_draft), err=True)


def _unless_cancelled(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report what nobody waits for any more, but not a process whose start Ctrl-C cancelled."""
    if not isinstance(context.get("exception"), asyncio.CancelledError):
        loop.default_exception_handler(context)
