"""Text of any length; only lines on the screen are rendered."""

from collections.abc import Collection, Sequence

from rich.segment import Segment
from textual import events
from textual.content import Content
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

KEPT = 1000  # rendered lines that are kept for scrolling back and forth


class Lines(ScrollView):
    """Show lines, each in one row of cells; only changed lines are painted."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Lines { overflow-x: hidden; overflow-y: auto; }"

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: Sequence[Content] = ()
        self._strips: dict[int, tuple[Style, Strip]] = {}

    def put(self, lines: Sequence[Content]) -> None:
        """Show other lines; those that are the same stay as they are on the screen."""
        blank = [Content("")] * (self.size.height - len(lines))
        old, self._shown = self._shown, [*lines, *blank]  # another number would mean a layout
        if len(old) != len(self._shown):
            self.resize_lines(len(self._shown))
            return
        pairs = enumerate(zip(old, self._shown, strict=True))
        self.change_lines([y for y, (before, after) in pairs if not before.is_same(after)])

    def line(self, y: int) -> Content:
        """Return the content of line `y`."""
        return self._shown[y]

    def resize_lines(self, count: int) -> None:
        """Make everything again, `count` lines of it."""
        self._strips.clear()
        self.virtual_size = Size(self.scrollable_content_region.width, count)
        self.refresh()

    def change_lines(self, changed: Collection[int]) -> None:
        """Make some lines again."""
        top, height = self.scroll_offset.y, self.size.height
        for y in changed:
            self._strips.pop(y, None)
        if seen := [y - top for y in changed if 0 <= y - top < height]:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in seen))

    @property
    def room(self) -> int:
        """How many cells wide a line may be."""
        return self.scrollable_content_region.width

    def on_resize(self, event: events.Resize) -> None:
        """Fit the lines to the new width."""
        self._strips.clear()

    def notify_style_update(self) -> None:
        """Take the colours of another theme."""
        self._strips.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """Render one row of the screen."""
        y += self.scroll_offset.y
        style = self.visual_style
        if y >= self.virtual_size.height:
            return Strip.blank(self.size.width, style.rich_style)
        known = self._strips.get(y)
        if known is None or known[0] != style:
            if len(self._strips) >= KEPT:
                self._strips.clear()
            known = self._strips[y] = (style, self._rendered(self.line(y), style))
        return known[1]

    def _rendered(self, line: Content, style: Style) -> Strip:
        fits = line.cell_length <= self.room
        fitting = line if fits else line.truncate(self.room, ellipsis=True)
        parts = fitting.render(style, "")
        segments = [Segment(text, part.rich_style) for text, part in parts]
        return Strip(segments).extend_cell_length(self.size.width, style.rich_style)
