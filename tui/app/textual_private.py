"""Private parts of Textual and Rich that the app uses, each with the reason.

No other module uses them, so checking a new version means checking this file.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import takewhile
from types import GeneratorType
from typing import TYPE_CHECKING, cast

import textual.app
from rich._wrap import divide_line as divide_line
from rich.console import Console
from rich.control import Control
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate
from textual._xterm_parser import BRACKETED_PASTE_START, XTermParser
from textual.app import App
from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet
from textual.driver import Driver
from textual.geometry import Offset, Region
from textual.keys import Keys
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import TextArea
from textual.widgets._footer import FooterKey as FooterKey

if TYPE_CHECKING:
    from textual.css.model import RuleSet
    from textual.widgets._markdown import MarkdownBullet as MarkdownBullet
    from textual.widgets._markdown import MarkdownListItem as MarkdownListItem
    from textual.widgets._markdown import MarkdownOrderedList as MarkdownOrderedList
    from textual.widgets._markdown import MarkdownTable as MarkdownTable
    from textual.widgets._markdown import MarkdownTableContent as MarkdownTableContent
    from textual.widgets.markdown import MarkdownBlock

OVERRIDDEN: dict[type, tuple[str, ...]] = {
    App: ("_fatal_error",),  # the report of a crash would show the values of variables
    TextArea: ("_on_key", "_on_paste"),  # a handler of ours would run as well as Textual's
}
"""Private methods that subclasses elsewhere replace."""
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


def become(key: FooterKey, other: FooterKey) -> None:
    """Have a key of a footer show what another one, which is not mounted, would."""
    key.key, key.key_display = other.key, other.key_display
    key.description, key.action = other.description, other.action
    key._disabled, key.tooltip = other._disabled, other.tooltip
    key.set_class(other._disabled, "-disabled")
    key.refresh(layout=True)


def holds_terminal(driver: Driver) -> bool:
    """Return whether a driver still has the terminal although its program was stopped.

    It has given it back where it was told of the stop; SIGSTOP does not tell.
    """
    resumes = getattr(driver, "_must_signal_resume", True)  # Linux's and macOS's has it
    return driver._auto_restart and not resumes


def keymap_of(app: App[object]) -> Mapping[str, str]:
    """Return the keys that a user has chosen, by the names of what they do."""
    return app._keymap


def reads_end(widget: Widget) -> bool:
    """Return whether a widget stays at its end; `is_anchored` holds also when scrolled away."""
    return widget.is_anchored and not widget._anchor_released


def uncaught(app: App[None]) -> Exception | None:
    """Return the first error that nothing caught."""
    return app._exception


# Painting only what has changed, which matters on a machine whose every core computes


def paint_sparingly(screen: Screen[None]) -> None:
    """Have a screen render the lines that have changed and no others."""
    screen._compositor = Sparing()


class Patches(CompositorUpdate):
    """Several places of the screen, written one after another."""

    def __init__(self, updates: Sequence[CompositorUpdate]) -> None:
        self._updates = updates

    def render_segments(self, console: Console) -> str:
        """Return what is written to the terminal."""
        return "".join(update.render_segments(console) for update in self._updates)


class LinePiece(CompositorUpdate):
    """A part of one line of the screen."""

    def __init__(self, place: Offset, strip: Strip) -> None:
        self._place, self._strip = place, strip

    def render_segments(self, console: Console) -> str:
        """Return what is written to the terminal."""
        return Control.move_to(*self._place).segment.text + self._strip.render(console)


class Sparing(Compositor):
    """Render the lines that have changed, and of the widgets that are seen there.

    Textual renders all there is within the rectangle around everything that has changed, which is
    most of the screen when a word appears on the left and a figure on the right of it.
    """

    def render_partial_update(self) -> ChopsUpdate | None:
        """Return an update of every part that has changed, each by itself."""
        regions, self._dirty_regions = self._dirty_regions, set()
        updates: list[ChopsUpdate] = []
        for region in disjoint(self._regions_to_spans(regions)):
            self._dirty_regions.add(region)
            if update := super().render_partial_update():
                updates.append(update)
        return Patches(updates) if updates else None  # type: ignore[return-value]

    def _get_renders(
        self, crop: Region | None = None
    ) -> Iterable[tuple[Region, Region, list[Strip]]]:
        wanted = self.size.region if crop is None else crop
        for widget, (region, clip) in self.visible_widgets.items():  # from front to back
            seen = region.intersection(clip)
            x, _, width, _ = seen
            lines = seen.intersection(Region(x, wanted.y, width, wanted.height))
            if lines and lines.overlaps(wanted):
                yield region, lines, widget.render_lines(lines.translate(-region.offset))
                if lines.contains_region(wanted):
                    return


def disjoint(spans: Iterable[tuple[int, int, int]]) -> list[Region]:
    """Return rectangles that cover the spans of lines (y, x1, x2), and no place twice."""
    found: dict[tuple[int, int, int], Region] = {}  # by the span that would continue with it
    for y, x1, x2 in spans:
        region = found.pop((y, x1, x2), Region(x1, y, x2 - x1, 0))
        found[y + 1, x1, x2] = region.grow((0, 0, 1, 0))
    return [*found.values()]


def paint(widget: Widget, lines: Mapping[int, int]) -> None:
    """Paint lines of a widget's content, each from a cell on: at once, or else soon.

    Textual passes a wish to be painted through two message queues and a timer, and looks at all
    that is on the screen; for a few letters that is most of the work.
    """
    screen, width = widget.screen, widget.size.width
    regions = [Region(x, y, width - x, 1) for y, x in lines.items()]
    visible = screen._compositor.visible_widgets
    busy = widget.app._batch_count or screen._layout_required or not screen.is_current
    place = None if busy else visible.get(widget)
    if place is None or _is_covered(widget, visible):
        widget.refresh(*regions)
        return
    home, clip = place
    corner = home.offset + widget.content_offset
    widget._styles_cache.set_dirty(*(each.translate(widget.content_offset) for each in regions))
    ground, filters = widget.background_colors[1], widget.get_line_filters()
    pieces: list[LinePiece] = []
    for region in regions:
        if seen := region.translate(corner).intersection(clip):
            strip = widget.render_line(region.y)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, ground)
            strip = strip.crop(seen.x - corner.x, seen.right - corner.x)
            pieces.append(LinePiece(seen.offset, strip))
    if pieces:
        widget.app._display(screen, Patches(pieces))  # type: ignore[arg-type]


def _is_covered(widget: Widget, visible: Mapping[Widget, tuple[Region, Region]]) -> bool:
    """Return whether something is in front of a part of a widget."""
    own = Region.intersection(*visible[widget])
    in_front = takewhile(lambda other: other is not widget, visible)
    return any(Region.intersection(*visible[other]).overlaps(own) for other in in_front)


# Parsing styles, which is most of a start


class Styles(Stylesheet):
    """Parse the styles of a widget's class once for each theme.

    Textual parses all of them a second time when the theme is set, as it is at the start, and again
    for every new class as soon as there are more than 64; the chat has more.
    """

    def parse(self) -> None:
        """Parse the styles that were not parsed with these variables before."""
        self._parse_cache = _parsed(tuple(self._variables.items()))
        super().parse()

    def reparse(self) -> None:
        """Parse what a change of the variables calls for."""
        self.parse()

    def set_variables(self, variables: dict[str, str]) -> None:
        """Set the theme's colours; what was parsed with others is kept for them."""
        self._parse_cache = LRUCache(1)
        super().set_variables(variables)


@lru_cache(4)
def _parsed(
    variables: tuple[tuple[str, str], ...],
) -> "LRUCache[tuple[object, ...], list[RuleSet]]":
    return LRUCache(1024)


# Reading what the terminal sends, also when a lot of it is pasted or keys are spelt oddly


class Parser(XTermParser):
    """Textual's parser, which is given a paste in long pieces and not by the character.

    Otherwise a pasted megabyte takes half a second in which nothing else gets to run.
    """

    def feed(self, data: str) -> Iterator[Message]:
        """Yield what the terminal said."""
        if not data:  # the end
            yield from super().feed(data)
        while data:
            if not self._pasting:
                before, mark, data = data.partition(BRACKETED_PASTE_START)
                yield from super().feed(before + mark) if before or mark else ()
            elif self._awaiting.timeout is None and (length := _plain(data)):
                self._awaiting = self._gen.send(data[:length])
                data = data[length:]
            else:  # perhaps the mark at its end
                yield from super().feed(data[0])
                data = data[1:]

    @property
    def _pasting(self) -> bool:
        frame = cast("GeneratorType[object, str, None]", self._gen).gi_frame
        return frame is not None and bool(frame.f_locals.get("bracketed_paste"))


def _plain(data: str) -> int:
    """Return how long the text is in which no sequence begins."""
    escape = data.find("\x1b")
    return len(data) if escape < 0 else escape


def install() -> None:
    """Have Textual use the parsers, and read Alt+Enter as what it is."""
    vars(textual.app)["Stylesheet"] = Styles
    # Most terminals send this for Alt+Enter, which Textual reads as Enter. It must not send.
    cast(dict[str, tuple[Keys, ...]], ANSI_SEQUENCES_KEYS)["\x1b\r"] = (Keys.ControlJ,)
    if sys.platform != "win32":
        from textual.drivers import linux_driver

        vars(linux_driver)["XTermParser"] = Parser
