"""What the apps share: no line can control the terminal, and no crash shows the conversation."""

import asyncio
import os
import traceback
from collections.abc import Callable, Coroutine, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from platformdirs import user_downloads_path
from rich.cells import cell_len
from rich.segment import Segment
from rich.text import Text
from textual import events
from textual.app import App, SuspendNotSupported
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import BUILTIN_THEMES
from textual.widgets import Input, TextArea

from assistant.request import AnyJob
from assistant.service import EventStream
from assistant.settings.settings import Settings
from tui.app.signals import signals_leave, starts_over
from tui.app.terminal_input import Burst
from tui.app.textual_private import driver_of, keys_of, read_terminal, uncaught
from tui.app.themes import legible
from tui.safe import one_line, safe
from tui.settings.editor import lend
from tui.widgets.entry_screen import EntryScreen

if TYPE_CHECKING:  # imported when there is a job
    from assistant.process.engine_process import EngineProcess

DEBUG = "SPECCHAT_DEBUG"
QUIT_AGAIN_S = 3.0
"""Seconds within which Ctrl+C must be pressed again to quit."""
ENGINE = "engine"
"""The group of the workers that follow jobs."""

read_terminal()


class Harmless(LineFilter):
    """Look at every line just before it is written.

    What is shown passes `safe` before it gets to a widget; this is for what a user pastes into
    one, and for the widget that was forgotten.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the line without characters that could control a terminal, at the same width."""
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [
            Segment("".join(map(_cell, text)), style, control) for text, style, control in segments
        ]


def _cell(character: str) -> str:
    """Return a character, or what takes its place without moving those after it."""
    glyph = "␊" if character == "\n" else safe(character)
    return character if glyph == character else glyph * min(cell_len(character), 1)


class Program(App[None]):
    """An app that is a whole program; `engine` makes its engine."""

    # A toast takes the first line, which names models: below are what is said and what is typed.
    CSS = """
    Widget { scrollbar-size-vertical: 1; }
    ToastRack { dock: top; align: right top; margin: 0; overflow-y: hidden; }
    Toast { width: auto; max-width: 100%; padding: 0 1; margin: 0; }
    """

    def __init__(self, engine: "Callable[[], EngineProcess] | None" = None) -> None:
        super().__init__()
        self._new_engine = engine
        self._engine: EngineProcess | None = None
        self._harmless = Harmless()
        self._asked_to_quit = -QUIT_AGAIN_S
        self._early: list[events.Event] | None = []  # what was typed before the prompt existed
        self._crashed = False
        self._undo = ExitStack()

    def on_load(self) -> None:
        """Handle the signals that end a program, before anything is shown."""
        self._undo.enter_context(signals_leave(self._leave))

    def on_mount(self) -> None:
        """Restore the terminal."""
        starts_over(driver_of(self))
        self.call_after_refresh(self._take_early)

    def do(self, job: AnyJob) -> EventStream:
        """Have the engine do a job; it is made when there is the first one."""
        if self._engine is None:
            if self._new_engine is None:
                from assistant.process.engine_process import EngineProcess

                self._new_engine = EngineProcess
            self._engine = self._new_engine()
        return self._engine.do(job)

    def submit(self, job: AnyJob, take: Callable[[Any], None]) -> EventStream:
        """Have the engine do a job; its events go to `take`."""
        stream = self.do(job)
        self.begin(self._follow(stream, take))
        return stream

    def begin(self, follow: Coroutine[Any, Any, None]) -> None:
        """Follow what the engine does until its end, or that of the program."""
        self.run_worker(follow, group=ENGINE)

    async def _follow(self, stream: EventStream, take: Callable[[Any], None]) -> None:
        async for event in stream:
            take(event)
            await asyncio.sleep(0)  # keys come first, however many events there are

    async def close_engine(self) -> None:
        """Free the models; nothing of jobs that are under way is shown any more."""
        self.workers.cancel_group(self, ENGINE)
        if self._engine is not None:
            await self._engine.close()

    async def on_unmount(self) -> None:
        """Restore the signal handlers after the app has ended."""
        self._undo.close()

    def _leave(self, number: int) -> None:
        self.exit(return_code=128 + number)

    def appear(self, settings: Settings) -> None:
        """Use the theme of the settings."""
        if settings.theme in self.available_themes:
            self.theme = settings.theme

    def warn_of_config(self, complaints: Iterable[str]) -> None:
        """Say what is odd in `config.toml`, or in what the program keeps."""
        for text in complaints:
            self.notify(safe(text), title="Settings", severity="warning", timeout=10, markup=False)

    async def on_event(self, event: events.Event) -> None:
        """Keep what is typed during startup until the prompt exists."""
        if self._early is not None and isinstance(event, events.Key | events.Paste):
            self._early.append(event)
        elif isinstance(event, Burst):
            is_text = isinstance(self.focused, Input | TextArea)
            for each in [events.Paste(event.text)] if is_text else keys_of(event.text):
                await self.on_event(cast(events.Event, each))
        else:
            await super().on_event(event)

    async def _take_early(self) -> None:
        early = self._early or []
        if early and isinstance(last := early[-1], events.Key) and last.key == "ctrl+j":
            early[-1] = events.Key("enter", "\r")  # so it was, before the terminal was ours
        await self._release_keys()

    def ring(self, text: str) -> None:
        """Call a user who looks at another window: by the bell, and by a notification.

        Many terminals read OSC 777, some of them OSC 9 as well, and would notify twice; to others
        that is progress. iTerm2, which names itself over SSH as well, documents OSC 9 alone.
        """
        if not self.app_focus and (driver := driver_of(self)):
            own = os.environ.get("LC_TERMINAL") == "iTerm2"
            words = f"9;specchat: {text}" if own else f"777;notify;specchat;{text}"
            driver.write(f"\a\x1b]{words}\x1b\\")

    def edit(self, path: Path, line: int = 0) -> str:
        """Lend the terminal to the user's editor; return what went wrong, usually nothing."""
        try:
            with self.suspend():
                return lend(path, line)
        except SuspendNotSupported:
            return f"This terminal cannot open an editor. Edit {path} elsewhere."

    def open_entry(self, screen: EntryScreen, take: Callable[[str | None], None]) -> None:
        """Have a text typed; what is typed before its line is there is kept for it."""
        self._early = []
        screen.begun = partial(self.call_later, self._release_keys)
        self.push_screen(screen, take)

    async def _release_keys(self) -> None:
        held, self._early = self._early or [], None
        for event in held:
            await self.on_event(event)

    def on_resize(self) -> None:
        """Paint everything: what a terminal showed is lost also when its size has come back."""
        self.screen.refresh()

    def get_line_filters(self) -> list[LineFilter]:
        """Check every line as the last step."""
        return [*super().get_line_filters(), self._harmless]

    def get_css_variables(self) -> dict[str, str]:
        """Return the colours of the theme, each with enough contrast."""
        self.register_theme(legible(BUILTIN_THEMES[self.theme]))
        return super().get_css_variables()

    def deliver_screenshot(
        self, filename: str | None = None, path: str | None = None, time_format: str | None = None
    ) -> None:
        """Write a picture of the screen; say where it is, or why there is none."""
        downloads = user_downloads_path()
        folder = path or str(downloads if downloads.is_dir() else Path.cwd())
        try:
            said = f"The screenshot is {self.save_screenshot(filename, folder, time_format)}"
        except OSError as error:
            said = f"No screenshot: {folder} cannot be written ({error.strerror})."
        self.notify(one_line(said), timeout=10, markup=False)

    def action_help(self) -> None:
        """Open the page of keys and terms."""
        from tui.app.help_screen import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen())

    def action_help_quit(self) -> None:
        """Quit when pressed twice; some terminals swallow Ctrl+Q."""
        if monotonic() - self._asked_to_quit < QUIT_AGAIN_S:
            self.exit()
        else:
            self._asked_to_quit = monotonic()
            self.notify("Press Ctrl+C again to quit.", timeout=QUIT_AGAIN_S)

    def _fatal_error(self) -> None:
        """Leave one sentence; Textual's own report shows the values of variables.

        Those are the conversation.
        """
        error = None if self._crashed else uncaught(self)
        self._crashed = True
        self.panic(*[] if error is None else [Text(safe(crash_report(error)))])


def crash_report(error: BaseException) -> str:
    """Return the message for an uncaught exception: a bug."""
    cause: Any = getattr(error, "error", error)  # that of a worker
    if os.environ.get(DEBUG):
        return "".join(traceback.format_exception(cause)).rstrip()
    return f"specchat: This is a bug in specchat: {type(cause).__name__}. {DEBUG}=1 shows where."
