"""An answer as a page of tokens with a cursor."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len, chop_cells
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.reactive import reactive

from tui.chat.inspector.token_facts import InspectedToken
from tui.widgets.lines import Lines
from tui.widgets.token_styles import styles

CURSOR = "bold $block-cursor-foreground on $block-cursor-background"
CURSOR_PLAIN = "bold reverse underline"


class TokenPiece(NamedTuple):
    """A part of an entry that stands in one line, from column `start` on."""

    entry: int
    text: str
    start: int


class TokenLayout:
    """Set texts in lines of `width` cells, broken between two of them, and where a text says so."""

    def __init__(self, texts: Sequence[str], width: int) -> None:
        self.width = width
        self.lines: list[list[TokenPiece]] = [[]]
        self.places: list[int] = []
        """The line in which each entry begins."""
        column = 0
        for entry, text in enumerate(texts):
            for number, part in enumerate(text.split("\n")):
                if number:
                    self.lines.append([])
                    column = 0
                for piece in chop_cells(part, width) or filter(None, [part]):  # of no width
                    if column and column + cell_len(piece) > width:
                        self.lines.append([])
                        column = 0
                    self.lines[-1].append(TokenPiece(entry, piece, column))
                    column += cell_len(piece)
                    if len(self.places) == entry:
                        self.places.append(len(self.lines) - 1)

    def at(self, line: int, column: int) -> int | None:
        """Return the entry at a column, or the nearest one; None in an empty line."""
        pieces = self.lines[line] if 0 <= line < len(self.lines) else []
        found = bisect_right(pieces, column, key=lambda piece: piece.start)
        return pieces[max(found - 1, 0)].entry if pieces else None

    def column(self, index: int) -> int:
        """Return where an entry begins in its line."""
        return next(p.start for p in self.lines[self.places[index]] if p.entry == index)


class TokenPage(Lines, can_focus=True):
    """Show tokens and ghosts in the look of their origin; every one of them can be reached."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "step(-1)", "Move left", show=False, id="inspector.left"),
        Binding("right,l", "step(1)", "Move", key_display="←→↑↓", id="inspector.right"),
        Binding("up,k", "line(-1)", "Line up", show=False, id="inspector.up"),
        Binding("down,j", "line(1)", "Line down", show=False, id="inspector.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="inspector.page_up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="inspector.page_down"),
        Binding("home", "edge(0)", "Start of line", show=False, id="inspector.line_start"),
        Binding("end", "edge(-1)", "End of line", show=False, id="inspector.line_end"),
        Binding("ctrl+home,g", "go(0)", "First token", show=False, id="inspector.first"),
        Binding("ctrl+end,G", "go(-1)", "Last token", show=False, id="inspector.last"),
        Binding("n", "rejection(1)", "Next wrong guess", id="inspector.next_rejection"),
        Binding("p", "rejection(-1)", "Previous wrong guess", id="inspector.previous_rejection"),
    ]

    cursor: reactive[int] = reactive(0, init=False)
    """The number of the entry under the cursor."""

    class Moved(Message):
        """The cursor stands on another entry."""

    def __init__(self, entries: Sequence[InspectedToken]) -> None:
        super().__init__(id="tokens")
        self.entries = entries
        self._layout = TokenLayout((), 0)
        self._goal = 0  # column that the cursor keeps to while it moves from line to line

    def on_resize(self, event: events.Resize) -> None:
        """Set the lines again."""
        super().on_resize(event)
        if self._layout.width != max(self.room, 1):
            texts = [entry.text for entry in self.entries]
            self._layout = TokenLayout(texts, max(self.room, 1))
            self.resize_lines(len(self._layout.lines))
        self._follow()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Do not move before there are lines."""
        return bool(self._layout.places)

    def line(self, y: int) -> Content:
        """Return the tokens of a line."""
        looks = styles(self.app.no_color)
        cursor = CURSOR_PLAIN if self.app.no_color else CURSOR
        return Content.assemble(
            *(
                (text, cursor if entry == self.cursor else looks[self.entries[entry].kind])
                for entry, text, _ in self._layout.lines[y]
            )
        )

    def watch_cursor(self, old: int, new: int) -> None:
        """Paint the two lines that changed."""
        for index in (old, new):
            place = self._layout.places[index]
            self.change_lines(range(place, place + 1 + self.entries[index].text.count("\n")))
        self._follow()
        self.post_message(self.Moved())

    def on_click(self, event: events.Click) -> None:
        """Go to the token under the mouse."""
        offset = event.get_content_offset(self)
        if offset is not None:
            x, y = offset + self.scroll_offset
            self._go_to(self._layout.at(y, x))

    def action_step(self, by: int) -> None:
        """Go to a neighbour."""
        self.action_go(min(max(self.cursor + by, 0), len(self.entries) - 1))

    def action_go(self, index: int) -> None:
        """Go to an entry; -1 is the last."""
        self._go_to(index % len(self.entries) if self.entries else None)

    def action_line(self, by: int) -> None:
        """Go to the nearest line above or below that holds another token."""
        y = self._line + by
        at = self._layout.at
        while 0 <= y < len(self._layout.lines) and at(y, self._goal) in (None, self.cursor):
            y += by
        self._go_to_line(y)

    def action_page(self, by: int) -> None:
        """Go as far as fits the screen."""
        last = len(self._layout.lines) - 1
        self._go_to_line(min(max(self._line + by * max(self.size.height - 1, 1), 0), last))

    def action_edge(self, end: int) -> None:
        """Go to the first or the last token of the line."""
        if self.entries:
            self._go_to(self._layout.lines[self._line][end].entry)

    def action_rejection(self, by: int) -> None:
        """Go to the next or the previous proposal that the target rejected."""
        last = len(self.entries)
        ahead = range(self.cursor + 1, last) if by > 0 else range(self.cursor - 1, -1, -1)
        found = next((i for i in ahead if self.entries[i].is_rejected), None)
        if found is None:
            self.notify(
                "No wrong guess after this one." if by > 0 else "No wrong guess before this one."
            )
        self._go_to(found)

    @property
    def _line(self) -> int:
        return self._layout.places[self.cursor] if self.entries else 0

    def _go_to(self, index: int | None) -> None:
        if index is not None:
            self.cursor = index
            self._goal = self._layout.column(index)

    def _go_to_line(self, y: int) -> None:
        index = self._layout.at(y, self._goal)
        if index is not None:
            self.cursor = index

    def _follow(self) -> None:
        if self.entries:
            there = Region(0, self._line, self.room, 1)
            self.scroll_to_region(there, animate=False, force=True)
