"""The private names of Textual and Rich that the app uses, each with the reason.

No other module uses private names, so a new version needs a check of this file only.
"""

from codecs import getincrementaldecoder
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import takewhile
from typing import Any, cast

from rich._wrap import divide_line as divide_line
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._compositor import ChopsUpdate
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.command import CommandPalette
from textual.driver import Driver
from textual.drivers import linux_driver
from textual.geometry import Region
from textual.keys import Keys
from textual.message import Message
from textual.screen import Screen, ScreenResultType
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets._footer import FooterKey as FooterKey
from textual.worker import Worker

from tui.app.terminal_input import TerminalInput

# State without a public way to read it


def driver_of(app: App[None]) -> Driver | None:
    """Return the driver of an app's terminal."""
    return app._driver


def holds_terminal(driver: Driver) -> bool:
    """Return whether a driver still has the terminal after its program was stopped.

    It releases the terminal at SIGTSTP, but a program gets no notice of SIGSTOP.
    """
    resumes = getattr(driver, "_must_signal_resume", True)  # the drivers of Linux and macOS have it
    return driver._auto_restart and not resumes


def meaning_of(screen: Screen[Any], key: str) -> str:
    """Return the meaning of a key for the focused widget, also if it is disabled now."""
    _, bindings = screen._binding_chain[0]
    of_key = bindings.key_to_bindings.get(key, ())
    return next((binding.tooltip or binding.description for binding in of_key), "")


def follows_end(widget: Widget) -> bool:
    """Return whether a widget stays at its end; `is_anchored` is true when scrolled away, too."""
    return widget.is_anchored and not widget._anchor_released


def uncaught(app: App[None]) -> Exception | None:
    """Return the first error that nothing caught."""
    return app._exception


# Painting new text. At ten rounds per second the interface takes 4 % of a core with this and 7 to
# 8 % without (120 x 40 and 240 x 60, two cores).


def paint(widget: Widget, lines: Mapping[int, int]) -> None:
    """Paint lines of a widget's content, each from a cell on; at once if possible.

    Textual passes a refresh through two message queues and a timer, and visits all widgets on the
    screen; for a few letters that is most of the work.
    """
    screen, width = widget.screen, widget.size.width
    regions = [Region(x, y, width - x, 1) for y, x in lines.items()]
    visible = screen._compositor.visible_widgets
    busy = widget.app._batch_count or screen._layout_required or widget.app.screen is not screen
    position = None if busy else visible.get(widget)
    if position is None or _is_covered(widget, visible):
        widget.refresh(*regions)
        return
    home, clip = position
    corner = home.offset + widget.content_offset
    widget._styles_cache.set_dirty(*(region.translate(widget.content_offset) for region in regions))
    ground, filters = widget.background_colors[1], widget.get_line_filters()
    strips: dict[int, dict[int, Strip]] = {}
    spans: list[tuple[int, int, int]] = []
    for region in regions:
        if seen := region.translate(corner).intersection(clip):
            strip = widget.render_line(region.y)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, ground)
            strips[seen.y] = {seen.x: strip.crop(seen.x - corner.x, seen.right - corner.x)}
            spans.append((seen.y, seen.x, seen.right))
    if spans:
        ends = {y: [right] for y, _, right in spans}
        widget.app._display(screen, ChopsUpdate(strips, spans, ends))  # type: ignore[arg-type]


def _is_covered(widget: Widget, visible: Mapping[Widget, tuple[Region, Region]]) -> bool:
    """Return whether another widget covers a part of a widget."""
    own = Region.intersection(*visible[widget])
    in_front = takewhile(lambda other: other is not widget, visible)
    return any(Region.intersection(*visible[other]).overlaps(own) for other in in_front)


class ClosedOnce(Screen[ScreenResultType]):
    """A screen that ignores a second key to close it, which would close the screen below."""

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close it if it is on top."""
        return super().dismiss(result) if self.is_current else AwaitComplete()


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
