"""The prompt below the scrollback of a terminal, and the unfinished lines between them."""

import asyncio
import os
import re
import select
import sys
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from prompt_toolkit import PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.enums import DEFAULT_BUFFER, EditingMode
from prompt_toolkit.filters import Condition, emacs_mode, has_focus
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from rich.cells import cell_len
from rich.text import Text

from tui.chat.prompt.file_picker import dropped_path
from tui.inline.chat import InlineChat
from tui.inline.commands import SlashCommands
from tui.inline.plain_terminal import PROMPT, typed_line
from tui.widgets.lines import MUTED

PERIOD_S = 1 / 20
"""Seconds between repaints, which draw all that is below the scrollback again."""
LONG_PASTE = 2_000
"""Characters from which a paste becomes an attachment: it would fill the screen."""
MENU = 6  # lines of completions


class InlineTerminal:
    """Print finished text, draw unfinished lines above the prompt, and read lines.

    The keys are those of `vi`, or else of Emacs.
    """

    def __init__(self, chat: InlineChat, commands: SlashCommands, vi: bool) -> None:
        self._chat, self._enter, self._scrollback = chat, commands.enter, chat.scrollback
        self._lines, self._columns = list[str](), 0  # drawn above the prompt, and at which width
        self._is_over = False

        output = Vt100_Output.from_pty(sys.stdout, os.environ.get("TERM"))
        # Without a report on the cursor, nothing is drawn below the prompt, which a terminal would
        # wrap or scroll when its size changes.
        output.enable_cpr = False

        self._session: PromptSession[str] = PromptSession(
            lambda: ANSI("".join(f"{line}\n" for line in self._lines) + PROMPT),
            multiline=True,
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            completer=commands,
            complete_while_typing=Condition(
                lambda: self.text().startswith("/") or "@" in self.text()
            ),
            complete_in_thread=True,
            reserve_space_for_menu=MENU,
            history=InMemoryHistory(chat.store.prompts()),
            key_bindings=self._keys(),
            prompt_continuation=" " * len(PROMPT),
            color_depth=_depth(),
            output=output,
            enable_suspend=True,
            enable_open_in_editor=True,
            erase_when_done=True,
        )

        def accept(buffer: Buffer) -> bool:
            text = buffer.text
            buffer.reset(append_to_history=bool(text.strip()))
            commands.enter(text)
            return True  # what it holds now stays

        buffer = self._session.default_buffer
        open_in_editor = buffer.open_in_editor

        def edit(validate_and_handle: bool = False) -> asyncio.Task[None]:
            # The name of a file may have bytes that are no text, which no editor would get.
            buffer.text = buffer.text.encode("utf-8", "replace").decode()
            return open_in_editor(validate_and_handle)

        # Enter and Ctrl+X Ctrl+E, the editor, call it; that of prompt_toolkit would leave the chat.
        buffer.accept_handler = accept
        buffer.open_in_editor = edit  # type: ignore[method-assign]
        app, renderer = self._session.app, self._session.app.renderer
        app.min_redraw_interval = PERIOD_S
        app.before_render += lambda _: self._prepare()
        # prompt_toolkit has no event for erasing.
        renderer.erase = partial(self._erase, renderer.erase)  # type: ignore[method-assign]

    async def run(self) -> None:
        """Read what is typed until the user leaves."""
        early = ""  # until now the terminal has made line breaks of Enter
        while select.select([0], [], [], 0)[0] and (line := typed_line()):
            early += line
        if early.strip():
            self._enter(early.rstrip("\n"))
        with suppress(EOFError):
            if not self._is_over:
                await self._session.prompt_async(default=self.text(), set_exception_handler=False)

    def leave(self) -> None:
        """Have `run` return."""
        self._is_over = True
        if self._session.app.is_running and not self._session.app.is_done:
            self._session.app.exit(result="")

    def refresh(self) -> None:
        """Repaint soon."""
        self._session.app.invalidate()

    def text(self) -> str:
        """Return the text in the prompt."""
        return self._session.default_buffer.text

    def clear(self) -> None:
        """Remove the text in the prompt; the arrow up recalls it."""
        self._session.default_buffer.reset(append_to_history=True)

    def put(self, text: str) -> None:
        """Put a text into the prompt, before the text that is there."""
        buffer = self._session.default_buffer
        buffer.document = buffer.document.insert_before(text)

    def copy(self, text: str) -> None:
        """Have the terminal put a text onto the clipboard."""
        coded = b64encode(text.encode()).decode()
        self._session.app.output.write_raw(f"\x1b]52;c;{coded}\a")
        self._session.app.output.flush()

    def _prepare(self) -> None:
        """Print what is finished; have as many unfinished lines drawn as fit, and the status."""
        app, scrollback, finished = self._session.app, self._scrollback, self._scrollback.finished()
        size, typed = app.output.get_size(), self._session.default_buffer.document.line_count
        scrollback.width = max(size.columns - 1, 1)
        lines = scrollback.open_lines(size.rows - typed - 3, self._chat.counts())
        # A row that was longer before would be wrapped by its old length.
        if finished or len(lines) != len(self._lines):
            app.renderer.erase()
            app.output.write_raw(finished.replace("\n", "\r\n"))
            app.output.flush()
        else:
            self._follow_wrapping()
        self._lines, self._columns = lines, size.columns

    def _erase(self, erase: Callable[[bool], None], leave_alternate_screen: bool = True) -> None:
        self._follow_wrapping()
        erase(leave_alternate_screen)

    def _follow_wrapping(self) -> None:
        """Move up to the first drawn line, in a terminal that became narrower and wrapped them.

        xterm and screen cut lines instead.
        """
        output = self._session.app.output
        columns = output.get_size().columns
        wraps = not (os.environ.get("XTERM_VERSION") or os.environ.get("STY"))
        if wraps and columns < self._columns:
            widths = (cell_len(Text.from_ansi(line).plain) for line in self._lines)
            output.cursor_up(sum(max(width - 1, 0) // columns for width in widths))
        self._lines = []

    def _keys(self) -> KeyBindings:
        keys, chat = KeyBindings(), self._chat
        idle, typing = Condition(lambda: chat.session.idle), has_focus(DEFAULT_BUFFER)

        @keys.add("enter", filter=typing)
        def send(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if (menu := buffer.complete_state) and menu.current_completion:
                buffer.complete_state = None
            else:
                buffer.validate_and_handle()

        @keys.add("escape", "/", filter=emacs_mode)  # a command right after Esc, not Alt+/
        @keys.add("escape", "enter")
        @keys.add("c-j")
        def insert(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("/" if event.data == "/" else "\n")

        @keys.add("escape", filter=~idle, eager=True)
        @keys.add("c-c", filter=typing)
        @keys.add("<sigint>")
        def stop(event: KeyPressEvent) -> None:
            if not chat.session.idle:
                chat.stop()
            elif not chat.unsent.question:
                self.clear()
            elif chat.unsent.leave():
                chat.scrollback.note("Your change is kept; /edit continues it.", MUTED)

        @keys.add(Keys.BracketedPaste)
        def paste(event: KeyPressEvent) -> None:
            text, buffer = re.sub("\r\n?", "\n", event.data), event.current_buffer
            if len(text) > LONG_PASTE:
                chat.paste(text)
            elif name := dropped_path(text):  # which becomes an @FILE; /attach needs the name alone
                before = buffer.document.text_before_cursor
                blank = " " if before[-1:].strip() else ""
                is_named = before.startswith("/") or before.endswith("@")
                buffer.insert_text(f"{name} " if is_named else f"{blank}@{name} ")
            else:
                buffer.insert_text(text)

        return keys


def _depth() -> ColorDepth:
    if "NO_COLOR" in os.environ:
        return ColorDepth.DEPTH_1_BIT
    has_all = os.environ.get("COLORTERM", "") in ("truecolor", "24bit")
    return ColorDepth.DEPTH_24_BIT if has_all else ColorDepth.DEPTH_8_BIT
