"""The private names of Textual and Rich that the app uses, each with the reason.

No other module uses private names, so a new version needs a check of this file only.
"""

import signal
from codecs import getincrementaldecoder
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any, cast

from rich._wrap import divide_line as divide_line
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.command import CommandPalette
from textual.driver import Driver
from textual.drivers import linux_driver
from textual.keys import Keys
from textual.message import Message
from textual.widget import Widget
from textual.widgets._footer import FooterKey as FooterKey
from textual.worker import Worker

from tui.app.terminal_input import TerminalInput
from tui.widgets.dialog import ClosedOnce

# State without a public way to read it


def driver_of(app: App[None]) -> Driver | None:
    """Return the driver of an app's terminal."""
    return app._driver


def release_on_resume(driver: Driver | None) -> None:
    """Have an app that was stopped by SIGSTOP release the terminal before it takes it again.

    Textual takes the terminal at every SIGCONT. A program gets no notice of SIGSTOP, so Textual
    would take it twice, and at its end restore the settings that it made itself.
    """
    resume = signal.getsignal(signal.SIGCONT)
    if driver is None or not callable(resume):
        return

    def handle(number: int, frame: FrameType | None) -> None:
        # Set at SIGTSTP, when the terminal is released; only on Linux and macOS.
        was_released = getattr(driver, "_must_signal_resume", True)
        if driver._auto_restart and not was_released:
            driver.suspend_application_mode()
        resume(number, frame)

    signal.signal(signal.SIGCONT, handle)


def follows_end(widget: Widget) -> bool:
    """Return whether a widget stays at its end; `is_anchored` is true when scrolled away, too."""
    return widget.is_anchored and not widget._anchor_released


def uncaught(app: App[None]) -> Exception | None:
    """Return the first error that nothing caught."""
    return app._exception


class Palette(CommandPalette, ClosedOnce[None]):
    """Textual's palette (8.2.8), without its failure at keys that come before its layout."""

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):  # a page key before there is a layout
            super()._action_command_list(action)

    def run_worker(self, *work: Any, **options: Any) -> Worker[Any]:
        """Run a worker; a search that outlives the palette may fail silently."""
        return super().run_worker(*work, **options | {"exit_on_error": False})


# Terminal input. Textual 8.2.8 ends a paste at any escape sequence, reads the rest of it as keys,
# and fails at a byte that is not UTF-8.


class PasteParser(XTermParser):
    """Textual's parser fed by `TerminalInput` with keys and reports only."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._input = TerminalInput(super().feed, lambda: self._timeout_time is not None)

    def feed(self, data: str) -> Iterable[Message]:
        """Yield the messages of characters that were read at once."""
        return self._input.feed(data) if data else super().feed(data)

    def tick(self) -> Iterable[Message]:
        """Yield the messages that are certain because nothing followed."""
        yield from self._input.tick()
        yield from super().tick()


def keys_of(text: str) -> Iterable[Message]:
    """Return the keys that type a text."""
    return XTermParser().feed(text)


def use_paste_parser() -> None:
    """Have Textual use this parser, in which neither Alt+Enter nor a paste sends the prompt."""
    cast(dict[str, tuple[Keys, ...]], ANSI_SEQUENCES_KEYS)["\x1b\r"] = (Keys.ControlJ,)
    strict = getincrementaldecoder("utf-8")
    vars(linux_driver).update(
        getincrementaldecoder=lambda _: partial(strict, "replace"), XTermParser=PasteParser
    )
