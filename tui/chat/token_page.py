"""The tokens of an answer, with a cursor that reaches each."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len, chop_cells
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.reactive import var

from tui.chat.token_facts import InspectedToken
from tui.text.token_styles import kind, styles
from tui.widgets.lines import Lines

CURSOR = "bold $block-cursor-foreground on $block-cursor-background"
CURSOR_PLAIN = "bold reverse underline"


class TokenPiece(NamedTuple):
    """The part of an entry on one line, from column `start` on."""

    entry: int
    text: str
    start: int


class TokenLayout:
    """Lay texts out in lines of `width` cells; lines break between texts, and at line breaks."""

    def __init__(self, texts: Sequence[str], width: int) -> None:
        self.width = width
        self.lines: list[list[TokenPiece]] = [[]]
        self.first_lines, self.last_lines = list[int](), list[int]()
        """The first and the last line of each entry."""
        column = 0
        for entry, text in enumerate(texts):
            for number, part in enumerate(text.split("\n")):
                if number:
                    self.lines.append([])
                    column = 0
                for piece in chop_cells(part, width) or filter(None, [part]):  # of zero width
                    if column and column + cell_len(piece) > width:
                        self.lines.append([])
                        column = 0
                    self.lines[-1].append(TokenPiece(entry, piece, column))
                    column += cell_len(piece)
                    if len(self.first_lines) == entry:
                        self.first_lines.append(len(self.lines) - 1)
            self.last_lines.append(len(self.lines) - 1)

    def at(self, line: int, column: int) -> int | None:
        """Return the entry at a column, or the nearest one; None in an empty line."""
        pieces = self.lines[line] if 0 <= line < len(self.lines) else []
        after = bisect_right(pieces, column, key=lambda piece: piece.start)
        return pieces[max(after - 1, 0)].entry if pieces else None

    def column(self, index: int) -> int:
        """Return the first column of an entry."""
        return next(p.start for p in self.lines[self.first_lines[index]] if p.entry == index)


class TokenPage(Lines, can_focus=True):
    """Show tokens in the styles of their kinds; the cursor reaches each."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "step(-1)", "Move left", id="inspector.left"),
        Binding("right,l", "step(1)", "Move", key_display="←→↑↓", id="inspector.right"),
        Binding("up,k", "line(-1)", "Line up", id="inspector.up"),
        Binding("down,j", "line(1)", "Line down", id="inspector.down"),
        Binding("pageup", "page(-1)", "Page up", id="inspector.page_up"),
        Binding("pagedown", "page(1)", "Page down", id="inspector.page_down"),
        Binding("home", "edge(0)", "Start of line", id="inspector.line_start"),
        Binding("end", "edge(-1)", "End of line", id="inspector.line_end"),
        Binding("ctrl+home,g", "go(0)", "First token", id="inspector.first"),
        Binding("ctrl+end,G", "go(-1)", "Last token", id="inspector.last"),
        Binding("n", "rejection(1)", "Next wrong guess", id="inspector.next_rejection"),
        Binding("p", "rejection(-1)", "Previous wrong guess", id="inspector.previous_rejection"),
    ]

    cursor: var[int] = var(0, init=False)
    """The index of the entry under the cursor."""

    class Moved(Message):
        """The cursor moved."""

    def __init__(self, entries: Sequence[InspectedToken]) -> None:
        super().__init__(id="tokens")
        self.entries = entries
        self._layout = TokenLayout((), 0)
        self._goal = 0  # the column kept while the cursor moves from line to line

    def on_resize(self) -> None:
        """Lay the lines out for the new width."""
        if self._layout.width != max(self.line_width, 1):
            texts = [entry.text for entry in self.entries]
            self._layout = TokenLayout(texts, max(self.line_width, 1))
            self.resize_lines(len(self._layout.lines))
        self._scroll_to_cursor()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the keys before there are lines."""
        return bool(self._layout.first_lines)

    def line(self, y: int) -> Content:
        """Return the tokens of a line."""
        token_styles = styles(self.app.no_color)
        cursor = CURSOR_PLAIN if self.app.no_color else CURSOR
        parts = (
            (text, cursor if entry == self.cursor else token_styles[kind(self.entries[entry].item)])
            for entry, text, _ in self._layout.lines[y]
        )
        return Content.assemble(*parts)

    def watch_cursor(self, old: int, new: int) -> None:
        """Repaint the entries that the cursor left and reached."""
        for index in (old, new):
            first, last = self._layout.first_lines[index], self._layout.last_lines[index]
            self.change_lines(range(first, last + 1))
        self._scroll_to_cursor()
        self.post_message(self.Moved())

    def on_click(self, event: events.Click) -> None:
        """Go to the token under the mouse."""
        offset = event.get_content_offset(self)
        if offset is not None:
            x, y = offset + self.scroll_offset
            self._go_to(self._layout.at(y, x))

    def action_step(self, by: int) -> None:
        """Move by some entries."""
        self.action_go(min(max(self.cursor + by, 0), len(self.entries) - 1))

    def action_go(self, index: int) -> None:
        """Go to an entry; -1 is the last."""
        self._go_to(index % len(self.entries))

    def action_line(self, by: int) -> None:
        """Go to the nearest line above or below with another token."""
        y, layout = self._line + by, self._layout
        while 0 <= y < len(layout.lines) and layout.at(y, self._goal) in (None, self.cursor):
            y += by
        self._go_to_line(y)

    def action_page(self, by: int) -> None:
        """Move by a page."""
        last = len(self._layout.lines) - 1
        self._go_to_line(min(max(self._line + by * max(self.size.height - 1, 1), 0), last))

    def action_edge(self, end: int) -> None:
        """Go to the first or the last token of the line."""
        self._go_to(self._layout.lines[self._line][end].entry)

    def action_rejection(self, by: int) -> None:
        """Go to the next or the previous rejected draft token."""
        after, before = range(self.cursor + 1, len(self.entries)), range(self.cursor - 1, -1, -1)
        ahead = after if by > 0 else before
        rejection = next((i for i in ahead if self.entries[i].is_rejected), None)
        if rejection is None:
            self.notify(f"No wrong guess {'after' if by > 0 else 'before'} this one.")
        self._go_to(rejection)

    @property
    def _line(self) -> int:
        return self._layout.first_lines[self.cursor]

    def _go_to(self, index: int | None) -> None:
        if index is not None:
            self.cursor = index
            self._goal = self._layout.column(index)

    def _go_to_line(self, y: int) -> None:
        index = self._layout.at(y, self._goal)
        if index is not None:
            self.cursor = index

    def _scroll_to_cursor(self) -> None:
        region = Region(0, self._line, self.line_width, 1)
        self.scroll_to_region(region, animate=False, force=True)
