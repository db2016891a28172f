"""Painting only what has changed, which matters on a machine whose every core computes."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from rich.console import Console
from rich.control import Control
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate
from textual.geometry import Offset, Region
from textual.strip import Strip
from textual.widget import Widget


class Patches(CompositorUpdate):
    """Several places of the screen, written one after the other."""

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
    found: dict[tuple[int, int, int], Region] = {}  # by the span that would go on with it
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
