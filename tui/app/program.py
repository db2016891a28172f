"""The base of both apps: the engine, safe output and input, signals, and crashes."""

import asyncio
import os
import traceback
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rich.cells import cell_len
from rich.segment import Segment
from rich.text import Text
from textual import events
from textual.app import App, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.filter import LineFilter
from textual.message_pump import MessagePump
from textual.theme import BUILTIN_THEMES, ThemeProvider
from textual.widgets import Input, TextArea

from assistant.request import AnyJob
from assistant.service import EventStream
from tui.app.signals import signals_leave
from tui.app.terminal_input import Burst
from tui.app.textual_private import (
    Palette,
    driver_of,
    keys_of,
    release_on_resume,
    uncaught,
    use_paste_parser,
)
from tui.app.themes import legible
from tui.safe import DEBUG, bug_report, safe
from tui.settings.editor import edit_file

if TYPE_CHECKING:  # imported when there is a job
    from assistant.process.engine_process import EngineProcess

QUIT_AGAIN_S = 3.0
"""Seconds within which a second Ctrl+C quits."""
ENGINE = "engine"
"""The group of the workers that handle events of jobs."""

use_paste_parser()


class ControlFilter(LineFilter):
    """Replace control characters in every line just before it is written.

    Foreign text passes `safe` before it gets to a widget; this filter is for text that a user
    pastes, and for a widget that forgot to call `safe`.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the line without control characters, at the same width."""
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [Segment("".join(map(_cell, text)), style, codes) for text, style, codes in segments]


def _cell(character: str) -> str:
    """Return a character, or a visible one of the same width instead."""
    glyph = "␊" if character == "\n" else safe(character)
    return character if glyph == character else glyph * min(cell_len(character), 1)


class Program(App[None]):
    """An app with an engine, which is created for its first job."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", id="app.quit", priority=True, tooltip="Exit"),
        Binding("ctrl+c", "help_quit", system=True),
    ]
    # A toast stands above the keys, and above the prompt.
    CSS = """
    Widget { scrollbar-size-vertical: 1; }
    OptionList { min-width: 8; }  /* Textual 8.2.8 cannot wrap an option to no cells */
    ToastRack { margin: 0 0 1 0; overflow-y: hidden; }
    Toast { width: auto; max-width: 100%; padding: 0 1; margin: 0; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._engine: EngineProcess | None = None
        self._control_filter = ControlFilter()
        self._quit_pressed_at = -QUIT_AGAIN_S
        self._buffered: list[events.Event] | None = []  # keys that wait; None: they pass at once
        self._has_crashed = False
        self._cleanup = ExitStack()

    def on_load(self) -> None:
        """Handle the signals that end a program, before anything is shown."""
        leave = signals_leave(lambda number: self.exit(return_code=128 + number))
        self._cleanup.enter_context(leave)

    def on_mount(self) -> None:
        """Handle SIGSTOP, and replay early keys after the first frame."""
        release_on_resume(driver_of(self))
        self.call_after_refresh(self._release_first_keys)

    def do(self, job: AnyJob) -> EventStream:
        """Start a job of the engine, which is created for the first one."""
        if self._engine is None:
            from assistant.process.engine_process import EngineProcess

            self._engine = EngineProcess()
        return self._engine.do(job)

    def submit(self, job: AnyJob, handle: Callable[[Any], None]) -> EventStream:
        """Start a job of the engine, and pass its events to `handle`."""
        stream = self.do(job)
        self.follow_events(self._handle_events(stream, handle))
        return stream

    def follow_events(self, events: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine on events of the engine until it or the program ends."""
        self.run_worker(events, group=ENGINE)

    async def _handle_events(self, stream: EventStream, handle: Callable[[Any], None]) -> None:
        async for event in stream:
            handle(event)
            await asyncio.sleep(0)  # keys are handled between any two events

    async def close_engine(self) -> None:
        """Free the models, and stop handling events."""
        self.workers.cancel_group(self, ENGINE)
        if self._engine is not None:
            await self._engine.close()

    async def on_unmount(self) -> None:
        """Restore the signal handlers."""
        self._cleanup.close()

    def warn_of_config(self, warnings: Iterable[str]) -> None:
        """Show warnings about `config.toml` or stored settings."""
        if text := "\n".join(warnings):
            self.notify(text, title="Settings", severity="warning", timeout=10)

    def notify(self, message: str, **options: Any) -> None:
        """Show a text from anywhere in a toast: without markup and control characters."""
        super().notify(safe(message), **options | {"markup": False})

    def on_notify(self) -> None:
        """Have a toast replace the one before."""
        self.clear_notifications()

    async def on_event(self, event: events.Event) -> None:
        """Turn unbracketed pastes into pastes or keys; buffer keys until the one before is handled.

        Textual runs the binding of a key after text that was typed later.
        """
        if not isinstance(event, events.Key | events.Paste | Burst) or event.is_forwarded:
            await super().on_event(event)
        elif self._buffered is not None:
            self._buffered.append(event)
        elif isinstance(event, Burst):
            is_text = isinstance(self.focused, Input | TextArea)
            for replayed in [events.Paste(event.text)] if is_text else keys_of(event.text):
                await self.on_event(cast(events.Event, replayed))
        else:
            handles = self.focused or self.screen
            is_text = not isinstance(event, events.Key) or (
                event.is_printable and event.character != "/"  # which may open the palette
            )
            self._buffered = None if is_text and isinstance(handles, Input | TextArea) else []
            await super().on_event(event)
            if self._buffered is not None:
                self._follow_key(iter(handles.ancestors_with_self))

    def _follow_key(self, queues: Iterator[MessagePump]) -> None:
        """Release the buffered keys once a key has passed the queues of all that may handle it."""
        if not any(queue.call_later(self._follow_key, queues) for queue in queues):
            # A screen that has just been opened sets its focus first.
            self.screen.call_later(self.call_later, self._release_keys)

    async def _release_first_keys(self) -> None:
        early = self._buffered or []
        if early and isinstance(last := early[-1], events.Key) and last.key == "ctrl+j":
            early[-1] = events.Key("enter", "\r")  # Enter is Ctrl+J until the terminal is raw
        await self._release_keys()

    def ring(self, text: str) -> None:
        """Alert a user who looks at another window, by the bell and a notification.

        iTerm2, which names itself over SSH, too, knows only OSC 9. All others get OSC 777 alone:
        some know both and would notify twice, and for some OSC 9 is progress.
        """
        if not self.app_focus and (driver := driver_of(self)):
            is_iterm = os.environ.get("LC_TERMINAL") == "iTerm2"
            words = f"9;specchat: {text}" if is_iterm else f"777;notify;specchat;{text}"
            driver.write(f"\a\x1b]{words}\x1b\\")

    def edit(self, path: Path, line: int = 0) -> str:
        """Open a file in the user's editor; return an error message, usually empty."""
        try:
            with self.suspend():
                return edit_file(path, line)
        except SuspendNotSupported:
            return f"This terminal cannot open an editor. Edit {path} elsewhere."

    async def _release_keys(self) -> None:
        buffered, self._buffered = self._buffered or [], None
        for event in buffered:
            await self.on_event(event)

    def on_resize(self) -> None:
        """Paint everything: the terminal lost its content, even if the size is the same again."""
        self.screen.refresh()

    def get_line_filters(self) -> list[LineFilter]:
        """Append the filter of control characters."""
        return [*super().get_line_filters(), self._control_filter]

    def get_css_variables(self) -> dict[str, str]:
        """Return the colours of the theme, with enough contrast."""
        self.register_theme(legible(BUILTIN_THEMES[self.theme]))
        return super().get_css_variables()

    def action_command_palette(self) -> None:
        """Show the palette."""
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def search_themes(self) -> None:
        """Show the themes in a palette."""
        self.push_screen(Palette(providers=[ThemeProvider], placeholder="Search for themes…"))

    def action_help(self) -> None:
        """Open the help page."""
        from tui.app.help_screen import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self.screen))

    def action_help_quit(self) -> None:
        """Quit when pressed twice: some terminals use Ctrl+Q themselves."""
        if monotonic() - self._quit_pressed_at < QUIT_AGAIN_S:
            self.exit()
        else:
            self._quit_pressed_at = monotonic()
            self.notify("Press Ctrl+C again to quit.", timeout=QUIT_AGAIN_S)

    def _fatal_error(self) -> None:
        """Print one sentence: Textual's report would print variables, so the conversation."""
        error = None if self._has_crashed else uncaught(self)
        self._has_crashed = True
        if error is None:
            self.panic()
            return
        cause: Any = getattr(error, "error", error)  # the error in a worker
        lines = traceback.format_exception(cause) if os.environ.get(DEBUG) else []
        text = "".join(lines).rstrip() or f"specchat: {bug_report(cause)}"
        self.panic(Text(safe(text)))
