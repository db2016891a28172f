"""Lines of text: widgets that render them, and ways to make them."""

from collections.abc import Collection, Sequence

from textual.content import Content
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from tui.safe import safe

MUTED = "$foreground-muted"  # $text-muted comes out at full strength in spans


class Lines(ScrollView):
    """Show one line per row; only changed lines are painted."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Lines { overflow-x: hidden; overflow-y: auto; }"

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._lines: Sequence[Content] = ()

    def show_lines(self, lines: Sequence[Content]) -> None:
        """Replace the lines; unchanged ones are not painted again."""
        blank = [Content("")] * (self.size.height - len(lines))
        old, self._lines = self._lines, [*lines, *blank]  # another height would need a layout
        if len(old) != len(self._lines):
            self.resize_lines(len(self._lines))
            return
        pairs = enumerate(zip(old, self._lines, strict=True))
        self.change_lines([y for y, (before, after) in pairs if not before.is_same(after)])

    def line(self, y: int) -> Content:
        """Return the content of line `y`."""
        return self._lines[y]

    def resize_lines(self, count: int) -> None:
        """Render everything again, with `count` lines."""
        self.virtual_size = Size(self.scrollable_content_region.width, count)
        self.refresh()

    def change_lines(self, changed: Collection[int]) -> None:
        """Render some lines again."""
        top, height = self.scroll_offset.y, self.size.height
        if seen := [y - top for y in changed if 0 <= y - top < height]:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in seen))

    @property
    def line_width(self) -> int:
        """The width of a line in cells."""
        return self.scrollable_content_region.width

    def render_line(self, y: int) -> Strip:
        """Render one row of the screen."""
        y += self.scroll_offset.y
        style = self.visual_style
        if y >= self.virtual_size.height:
            return Strip.blank(self.size.width, style.rich_style)
        line = self.line(y).truncate(self.line_width, ellipsis=True)
        strip = Strip(line.render_segments(style))
        return strip.extend_cell_length(self.size.width, style.rich_style)


def paragraph(text: str, width: int, style: str = MUTED) -> list[Content]:
    """Return a text in lines of at most `width` cells."""
    return Content.styled(safe(text), style).wrap(max(width, 10)) if text else []


def pair(left: str | Content, right: str | Content, width: int) -> Content:
    """Return a line with a name on the left and its value on the right."""
    name = Content.styled(left, MUTED) if isinstance(left, str) else left
    value = Content.styled(right, "bold") if isinstance(right, str) else right
    gap = width - name.cell_length - value.cell_length
    return Content.assemble(name, " " * max(gap, 1), value)


MIN_NAME_CELLS = 8
"""Cells of a name that are always shown."""


class Head(Widget):
    """Show a title on the left, and a legend on its right, or below where that does not fit."""

    DEFAULT_CSS = "Head { height: auto; color: $text-muted; }"

    line: reactive[Content] = reactive(Content(""))
    """The title, such as the author of a turn."""
    details: reactive[str] = reactive("")
    """The time and the branch; a long name is cut to leave space for them."""
    legend: reactive[Content] = reactive(Content(""), layout=True)
    """The meaning of the colours."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines."""
        return 1 if self._fits(width) else 1 + len(self.legend.wrap(max(width, 1)))

    def render(self) -> Content:
        """Draw the line or the lines."""
        width, legend = self.size.width, self.legend
        is_beside = bool(legend) and self._fits(width)
        free = width - len(self.details) - (legend.cell_length + 2 if is_beside else 0)
        line = self.line.truncate(max(free, MIN_NAME_CELLS), ellipsis=True) + self.details
        if is_beside:
            return pair(line, legend, width)
        return Content("\n").join([line, legend]) if legend else line

    def _fits(self, width: int) -> bool:
        """Return whether the name fits beside the legend."""
        whole = self.line.cell_length + len(self.details)
        return not self.legend or self.legend.cell_length + whole + 2 <= width
