"""The engine of a shell command, with progress on standard error and Ctrl-C."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from assistant.events import Failed, Loading, Prefilled, TokenCount, Warned
from assistant.process.engine_process import EngineProcess
from assistant.process.wire import CHAT, Protocol
from assistant.request import AnyJob, CountTokens, EngineArgs
from assistant.service import EventStream
from assistant.settings.settings import Settings
from models import errors
from models.progress import Progress
from tui.app.signals import signal_handlers
from tui.formatting import remaining
from tui.safe import safe
from tui.shell.standard_output import announce

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from tui.reading import AnswerProgress

T = TypeVar("T")


class Stopped(KeyboardInterrupt):
    """The engine was stopped with Ctrl-C before its job was done."""


class EngineConsole:
    """Run jobs of an engine, and show their progress on standard error.

    The engine is a separate process: a crash of llama.cpp does not end this one.
    """

    def __init__(self, protocol: Protocol = CHAT) -> None:
        self._measures = protocol is not CHAT
        self.interrupted = False
        """Whether Ctrl-C was pressed while `stoppable` was set."""
        self.stoppable = False
        """Whether the first Ctrl-C stops the job and keeps its result; the second one raises."""
        self.closing: list[Callable[[], Awaitable[None]]] = []
        """Called at the end, before the engine is closed."""
        self._measured = ""  # what is measured
        self._has_warned = False  # that new connections have to wait
        self._loop = asyncio.Runner()
        self.engine = EngineProcess(protocol=protocol)
        """The engine; its jobs run in the event loop of `wait`."""
        self._task: asyncio.Task[Any] | None = None
        self._stop_job: Callable[[], object] | None = None  # stops the current job

    @cached_property
    def console(self) -> "Console":
        """Standard error; progress would overwrite the screen of an editor whose filter this is."""
        from rich.console import Console  # while the engine starts

        is_filter = not any(stream and stream.isatty() for stream in (sys.stdin, sys.stdout))
        force = False if is_filter else None
        return Console(stderr=True, highlight=False, markup=False, force_terminal=force)

    @cached_property
    def _progress(self) -> "AnswerProgress":
        from tui.reading import AnswerProgress  # while the engine starts

        return AnswerProgress()

    @cached_property
    def _status(self) -> "Status":
        rate = 2 if self._measures else 12.5  # a faster spinner would disturb measurements
        return self.console.status("looking for the models", refresh_per_second=rate)

    @contextmanager
    def open(self, starts_engine: bool = False) -> Iterator[None]:
        """Show progress in this context, and close the engine at its end.

        With `starts_engine` the engine's process starts first: it takes longer than all imports.
        """
        try:
            with signal_handlers({signal.SIGINT: self._interrupt, signal.SIGTSTP: self._pause}):
                self._loop.get_loop().set_exception_handler(self._report_error)
                if starts_engine:
                    self._loop.run(self.engine.start())
                with self._status:
                    yield
        finally:
            self.console.show_cursor()  # an interrupt may come while the spinner starts
            self._stop_job = None
            with self._loop:
                self._loop.run(self._close())

    def run(
        self, job: AnyJob, handle: Callable[[Any], None] | None = None, stoppable: bool = True
    ) -> Any:
        """Run a job, and return its last event; `handle` gets every event.

        `stoppable` is whether the first Ctrl-C only stops the job; the second one raises.

        Raises:
            SpecchatError: it failed.
            Stopped: Ctrl-C ended the job.
        """
        self.stoppable = stoppable
        end = self.wait(self._last_event(job, handle))
        if isinstance(end, Failed):
            raise self.error(end)
        return end

    def count(self, text: str) -> int:
        """Return how many tokens a text has for the loaded model; it raises what `run` raises."""
        counted: TokenCount = self.run(CountTokens(text), stoppable=False)
        return counted.tokens

    async def _last_event(self, job: AnyJob, handle: Callable[[Any], None] | None) -> Any:
        stream, end = self.do(job), None
        self.stop_with(stream.cancel)
        async for event in stream:
            end = event
            if handle is not None:
                handle(event)
            elif isinstance(event, Warned):
                click.echo(safe(event.text), err=True)
            if isinstance(event, Loading):
                self.show_waiting(event)
        return end

    def start_task(self, job: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a coroutine, which runs while the console waits for something."""
        return self._loop.get_loop().create_task(job)

    def wait(self, job: Awaitable[T]) -> T:
        """Wait for the result of a coroutine or a task, which may start jobs."""

        async def follow() -> T:
            self._task = asyncio.current_task()
            return await job

        return self._loop.run(follow())

    def do(self, job: AnyJob) -> EventStream:
        """Start a job, in the loop of `wait`; after Ctrl-C, cancel it at once."""
        stream = self.engine.do(job)
        if self.interrupted:
            stream.cancel()
        return stream

    def stop_with(self, stop: Callable[[], None]) -> None:
        """Have Ctrl-C call `stop` in the loop of `wait`."""
        self._stop_job = partial(asyncio.get_running_loop().call_soon_threadsafe, stop)

    def stop(self) -> None:
        """Stop the current job; its last event still comes."""
        if self._stop_job is not None:
            self._stop_job()

    def error(self, end: Failed) -> BaseException:
        """Return the exception to raise for a failed job."""
        return Stopped() if self.interrupted else getattr(errors, end.kind)(end.message)

    def show_waiting(self, event: Loading | Prefilled, what: str = "the prompt") -> None:
        """Show how much of a model is loaded, or how much of `what` it has read."""
        if isinstance(event, Loading) or event.role == "target":  # drafts also read amid an answer
            self._status.start()
        activity = self._progress.describe(event, what)
        is_loading = isinstance(event, Loading) and event.fraction < 1
        self.show_progress(activity.text + (f": {activity.fraction:.0%}" if is_loading else ""))

    def cancel_wait(self) -> None:
        """Cancel the coroutine of `wait`, which raises CancelledError."""
        if self._task is not None:
            self._task.cancel()

    async def _close(self) -> None:
        """Cancel a job that an interrupt left running, and close the engine."""
        self.cancel_wait()
        await asyncio.gather(*filter(None, [self._task]), return_exceptions=True)
        for close in self.closing:
            await close()
        await self.engine.close()

    def pair(self, settings: Settings) -> EngineArgs:
        """Find the models of the settings, and report a missing draft."""
        setup, no_draft = settings.setup(self.show_check)
        report_missing_draft(no_draft, settings, is_measured=self._measures)
        return setup

    def show_check(self, progress: Progress) -> None:
        """Show the progress of the check of model files."""
        share = progress.done / progress.total if progress.total else 0.0
        self.show_progress(f"checking the model files: {share:.0%}")

    def show_measuring(self, what: str, fraction: float, left_s: float | None) -> None:
        """Show the progress of a measurement; without a terminal, print when another one starts."""
        text = f"{what}: {fraction:.0%}{remaining(left_s)}"
        self.show_progress(text, as_line=what != self._measured)
        self._measured = what

    def show_progress(self, what: str, as_line: bool = False) -> None:
        """Show progress; without a terminal, print it only if `as_line`."""
        from rich.text import Text

        self._status.update(Text(safe(what)))
        if as_line and not self.console.is_terminal:
            click.echo(safe(what), err=True)

    def hide_progress(self) -> None:
        """Stop showing progress."""
        self._status.stop()

    def _report_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Report an error that nobody awaits, except that of a signal or of a cancelled start."""
        error = context.get("exception")
        if isinstance(error, OSError) and "socket" in context:  # asyncio keeps trying
            if not self._has_warned:
                announce(f"New connections have to wait: {error.strerror}.")
            self._has_warned = True
        elif not isinstance(error, asyncio.CancelledError | SystemExit | KeyboardInterrupt):
            loop.default_exception_handler(context)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted or not self.stoppable:
            raise KeyboardInterrupt
        self.interrupted = True
        self.stop()

    def _pause(self, number: int, frame: FrameType | None) -> None:
        """Stop the process at Ctrl-Z, with the cursor visible."""
        # Not by the console: the signal may have come while it writes, which cannot be nested.
        if self.console.is_terminal and not self.console.is_dumb_terminal:
            os.write(2, b"\x1b[?25h")
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, self._pause)


def report_missing_draft(no_draft: str | None, settings: Settings, is_measured: bool) -> None:
    """Print why there is no draft, unless none is wanted; raise it if a named one is measured."""
    from models.drafts import NO_DRAFT  # after the process has started

    if no_draft and settings.draft != NO_DRAFT:
        if settings.draft and is_measured:
            raise errors.ModelError(no_draft)
        click.echo(safe(no_draft), err=True)
