"""Private parts of Textual and Rich that the app uses, each with the reason.

No other module uses them, so checking a new version means checking this file.
"""

from codecs import getincrementaldecoder
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import takewhile
from typing import TYPE_CHECKING, Any, cast

from rich._wrap import divide_line as divide_line
from rich.console import Console
from rich.control import Control
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._compositor import CompositorUpdate
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.command import CommandPalette
from textual.driver import Driver
from textual.drivers import linux_driver
from textual.geometry import Offset, Region
from textual.keys import Keys
from textual.message import Message
from textual.screen import Screen, ScreenResultType
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets._footer import FooterKey as FooterKey
from textual.worker import Worker

from tui.app.terminal_input import TerminalInput

if TYPE_CHECKING:
    from textual.widgets._markdown import MarkdownBullet as MarkdownBullet
    from textual.widgets._markdown import MarkdownListItem as MarkdownListItem
    from textual.widgets._markdown import MarkdownOrderedList as MarkdownOrderedList
    from textual.widgets._markdown import MarkdownTable as MarkdownTable
    from textual.widgets._markdown import MarkdownTableContent as MarkdownTableContent
    from textual.widgets.markdown import MarkdownBlock

MARKDOWN = (
    "MarkdownBullet",
    "MarkdownListItem",
    "MarkdownOrderedList",
    "MarkdownTable",
    "MarkdownTableContent",
)
"""Markdown's widgets that `textual.widgets.markdown` leaves out; ours are made of them."""


def __getattr__(name: str) -> object:
    """Import Markdown when it is first used: the first frame does not wait for it."""
    if name not in MARKDOWN:
        raise AttributeError(name)
    return getattr(import_module("textual.widgets._markdown"), name)


# What there is no public way to ask


def blocks_of(block: "MarkdownBlock") -> "list[MarkdownBlock]":
    """Return the blocks of a Markdown block that are not mounted yet; they can be taken away."""
    return block._blocks


def driver_of(app: App[None]) -> Driver | None:
    """Return the driver of an app's terminal."""
    return app._driver


def holds_terminal(driver: Driver) -> bool:
    """Return whether a driver still has the terminal although its program was stopped.

    It has given it back where it was told of the stop; SIGSTOP does not tell.
    """
    resumes = getattr(driver, "_must_signal_resume", True)  # Linux's and macOS's has it
    return driver._auto_restart and not resumes


def meaning_of(screen: Screen[Any], key: str) -> str:
    """Return what a key is for where it is pressed, though it may have nothing to do there now."""
    _, bindings = screen._binding_chain[0]
    return next(
        (each.tooltip or each.description for each in bindings.key_to_bindings.get(key, ())), ""
    )


def reads_end(widget: Widget) -> bool:
    """Return whether a widget stays at its end; `is_anchored` holds also when scrolled away."""
    return widget.is_anchored and not widget._anchor_released


def uncaught(app: App[None]) -> Exception | None:
    """Return the first error that nothing caught."""
    return app._exception


# Painting the letters that come. While ten rounds a second come, the interface takes 4 % of a core
# with this and 7 to 8 % without (120 x 40 and 240 x 60, two cores); no other part was worth 1 %.


class Patches(CompositorUpdate):
    """Pieces of lines of the screen, written one after another."""

    def __init__(self, pieces: Sequence[tuple[Offset, Strip]]) -> None:
        self._pieces = pieces

    def render_segments(self, console: Console) -> str:
        """Return what is written to the terminal."""
        return "".join(
            Control.move_to(*place).segment.text + strip.render(console)
            for place, strip in self._pieces
        )


def paint(widget: Widget, lines: Mapping[int, int]) -> None:
    """Paint lines of a widget's content, each from a cell on: at once, or else soon.

    Textual passes a wish to be painted through two message queues and a timer, and looks at all
    that is on the screen; for a few letters that is most of the work.
    """
    screen, width = widget.screen, widget.size.width
    regions = [Region(x, y, width - x, 1) for y, x in lines.items()]
    visible = screen._compositor.visible_widgets
    busy = widget.app._batch_count or screen._layout_required or widget.app.screen is not screen
    place = None if busy else visible.get(widget)
    if place is None or _is_covered(widget, visible):
        widget.refresh(*regions)
        return
    home, clip = place
    corner = home.offset + widget.content_offset
    widget._styles_cache.set_dirty(*(each.translate(widget.content_offset) for each in regions))
    ground, filters = widget.background_colors[1], widget.get_line_filters()
    pieces: list[tuple[Offset, Strip]] = []
    for region in regions:
        if seen := region.translate(corner).intersection(clip):
            strip = widget.render_line(region.y)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, ground)
            strip = strip.crop(seen.x - corner.x, seen.right - corner.x)
            pieces.append((seen.offset, strip))
    if pieces:
        widget.app._display(screen, Patches(pieces))  # type: ignore[arg-type]


def _is_covered(widget: Widget, visible: Mapping[Widget, tuple[Region, Region]]) -> bool:
    """Return whether something is in front of a part of a widget."""
    own = Region.intersection(*visible[widget])
    in_front = takewhile(lambda other: other is not widget, visible)
    return any(Region.intersection(*visible[other]).overlaps(own) for other in in_front)


class ClosedOnce(Screen[ScreenResultType]):
    """A screen that a second key, before it is gone, does not close again with what is below."""

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close it, if it is on top."""
        return super().dismiss(result) if self.is_current else AwaitComplete()


class Palette(CommandPalette, ClosedOnce[None]):
    """Textual's palette (8.2.8), which fails where keys come faster than it is laid out."""

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):  # of a page key: no line of its list is known
            super()._action_command_list(action)

    def run_worker(self, *work: Any, **options: Any) -> Worker[Any]:
        """Run a worker; what looks for commands may go on where it is closed, and fail."""
        return super().run_worker(*work, **options | {"exit_on_error": False})


# Reading the terminal. Textual 8.2.8 ends a paste at any escape sequence in it, reads what follows
# as keys, and fails at a byte that is not UTF-8.


class PasteParser(XTermParser):
    """Textual's parser, which gets nothing but keys and reports."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._input = TerminalInput(super().feed, lambda: self._timeout_time is not None)

    def feed(self, data: str) -> Iterable[Message]:
        """Yield what characters mean that were read at once; none of them ends the input."""
        return self._input.feed(data) if data else super().feed(data)

    def tick(self) -> Iterable[Message]:
        """Yield what is known because nothing more has come."""
        yield from self._input.tick()
        yield from super().tick()


def keys_of(text: str) -> Iterable[Message]:
    """Return the keys that type a text."""
    return XTermParser().feed(text)


def read_terminal() -> None:
    """Have Textual read what terminals send as what it is: neither Alt+Enter nor a paste sends."""
    cast(dict[str, tuple[Keys, ...]], ANSI_SEQUENCES_KEYS)["\x1b\r"] = (Keys.ControlJ,)
    strict = getincrementaldecoder("utf-8")
    vars(linux_driver).update(
        getincrementaldecoder=lambda _: partial(strict, "replace"), XTermParser=PasteParser
    )
