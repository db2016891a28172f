"""Textual's Markdown: code wraps, texts keep their spaces and lists their numbers."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import ClassVar, cast

from markdown_it import MarkdownIt
from markdown_it.token import Token
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content, Span
from textual.geometry import Size
from textual.highlight import (
    ANSIDarkHighlightTheme,
    ANSILightHighlightTheme,
    HighlightTheme,
    highlight,
)
from textual.widgets import Label, Markdown
from textual.widgets.markdown import MarkdownBlock, MarkdownFence

from tui.app.textual_private import (
    MarkdownBullet,
    MarkdownListItem,
    MarkdownOrderedList,
    MarkdownTable,
    MarkdownTableContent,
    blocks_of,
)

MAX_HIGHLIGHTED = 20_000
"""Characters of code that are highlighted."""
STYLES = {"em_open": ".em", "strong_open": ".strong", "s_open": ".s"}
HOLDERS = ("paragraph_open", "h1", "h2", "h3", "h4", "h5", "h6", "th_open", "td_open")
"""The blocks that hold text; Textual's own would make one space of many."""

_RULE = re.compile(":?-+:?")
GAP, NARROWEST = 2, 8
"""Cells between the columns of a table, and those that each needs for its text."""


class Written(MarkdownBlock):
    """A block whose text is as it was written."""

    def build_from_token(self, token: Token) -> None:
        """Show what is within."""
        self.set_content(content(token.children or ()))


WRITTEN = {
    name: type(kind.__name__, (kind, Written), {})  # styles are those of the first
    for name, kind in Markdown.BLOCKS.items()
    if name in HOLDERS
}


def content(children: Iterable[Token]) -> Content:
    """Return inline tokens as text with styles."""
    text, spans = "", list[Span]()
    opened: list[tuple[str, int]] = []
    for child in children:
        before = len(text)
        text = (text + child.content).expandtabs()
        if child.type == "code_inline":
            spans.append(Span(before, len(text), ".code_inline"))
        elif child.nesting > 0:
            opened.append((STYLES[child.type], before))
        elif child.nesting < 0:
            style, begin = opened.pop()
            spans.append(Span(begin, before, style))
    return Content(text, spans)


@lru_cache(maxsize=128)
def highlighted(code: str, language: str, ansi: bool, dark: bool) -> Content:
    """Return code in colours; may be called ahead on any thread, which costs the screen nothing."""
    colours: type[HighlightTheme] = HighlightTheme
    if ansi:
        colours = ANSIDarkHighlightTheme if dark else ANSILightHighlightTheme
    name = language.split()[0].lower() if language.split() else "text"
    return highlight(code, language=name if len(code) <= MAX_HIGHLIGHTED else "text", theme=colours)


class Fence(MarkdownFence):
    """Code, wrapped where it is wider than the screen; its language is said, never guessed."""

    DEFAULT_CSS = """
    Fence {
        margin: 0 0 1 0; padding: 0; overflow: hidden;
        color: $foreground; background: $panel 60%; border-left: outer $border-blurred;
    }
    Fence:light { background: $panel 60%; }
    Fence > Label { width: 100%; padding: 0 1; }
    Fence > .language { color: $text-muted; }
    """

    @classmethod
    def highlight(cls, code: str, language: str, ansi: bool = False, dark: bool = False) -> Content:
        """Return the code in colours."""
        return highlighted(code, language, ansi, dark)

    def compose(self) -> ComposeResult:
        """Lay out the language and the code."""
        if self.lexer.strip():
            yield Label(self.lexer.strip(), classes="language", expand=True, markup=False)
        yield from super().compose()


class Numbered(MarkdownOrderedList):
    """A list with the numbers that it was given."""

    def compose(self) -> ComposeResult:
        """Lay out the items; the numbers end in one column."""
        items = [block for block in blocks_of(self) if isinstance(block, MarkdownListItem)]
        width = max(len(item.bullet) for item in items)
        for item in items:
            number = MarkdownBullet()
            number.symbol = f" {item.bullet:>{width}} "
            yield Horizontal(number, Vertical(*blocks_of(item)))
        blocks_of(self).clear()


class Table(MarkdownTable):
    """A table as wide as its content, or its source where the screen is too narrow for it."""

    def __init__(self, markdown: Markdown, token: Token) -> None:
        super().__init__(markdown, token)
        self._written = Content(str(token.meta["source"]))
        rules = _RULE.findall(self._written.plain.split("\n")[1])
        self._sides = [(0.5 if rule[0] == ":" else 1.0) * (rule[-1] == ":") for rule in rules]
        self._lines: list[list[Content]] = []

    def compose(self) -> ComposeResult:
        """Take the cells, which are drawn together."""
        for cells in super().compose():
            if isinstance(cells, MarkdownTableContent):
                head = [cell.stylize_before("bold $text-accent") for cell in cells.headers]
                self._lines = [head, *cells.rows]
        yield from ()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines."""
        return len(self._drawn(width).wrap(max(width, 1)))

    def render(self) -> Content:
        """Draw the table."""
        return self._drawn(self.size.width)

    def _drawn(self, room: int) -> Content:
        widths = column_widths(self._lines, room)
        if not widths:
            return self._written
        head, *rows = ([*_row(row, widths, self._sides)] for row in self._lines)
        rule = Content.styled("─" * (sum(widths) + GAP * (len(widths) - 1)), "$foreground-muted")
        drawn = [*head, rule, *(line for row in rows for line in row)]
        return Content("\n").join(drawn)


def column_widths(rows: Sequence[Sequence[Content]], room: int) -> list[int]:
    """Return how wide columns are; the widest give way. None are left where it is too narrow."""
    widths = [max(cell.cell_length for cell in column) for column in zip(*rows, strict=True)]
    room -= GAP * (len(widths) - 1)
    fits = (most for most in range(room, 0, -1) if sum(min(w, most) for w in widths) <= room)
    most = next(fits, 0)
    enough = most >= min(NARROWEST, max(widths, default=0))
    return [max(min(width, most), 1) for width in widths] if enough else []


def _row(
    cells: Sequence[Content], widths: Sequence[int], sides: Sequence[float]
) -> Iterator[Content]:
    """Yield the lines of a row: a cell that is wider than its column is wrapped.

    `sides` are the parts of the room beside cells that are before them.
    """
    wrapped = [cell.wrap(width) for cell, width in zip(cells, widths, strict=True)]
    for parts in zip_longest(*wrapped, fillvalue=Content("")):
        yield Content(" " * GAP).join(map(_padded, parts, widths, sides))


def _padded(part: Content, width: int, side: float) -> Content:
    """Return a text in just so many cells."""
    before = int(side * (room := width - part.cell_length))
    return part.pad_left(before).pad_right(room - before)


class Document(Markdown):
    """A Markdown document of a model."""

    BLOCKS: ClassVar[dict[str, type[MarkdownBlock]]] = {  # type: ignore[misc]
        **Markdown.BLOCKS,
        **WRITTEN,
        "fence": Fence,
        "code_block": Fence,
        "table_open": Table,
        "ordered_list_open": Numbered,
    }
    DEFAULT_CSS = """
    Document {
        padding: 0;
        & MarkdownHeader { margin: 0 0 1 0; content-align: left middle; background: transparent; }
        & MarkdownH1, & MarkdownH2 { color: $text-accent; text-style: bold underline; }
        & MarkdownH3, & MarkdownH4, & MarkdownH5, & MarkdownH6 {
            color: $text-accent; text-style: bold; width: 1fr;
        }
        & MarkdownBullet { min-height: 1; }
        & MarkdownBlockQuote { margin: 0 0 1 0; }
        & MarkdownHorizontalRule { border-bottom: solid $border-blurred; }
        & Table:light { background: transparent; }
    }
    """


class _Read:
    """Stand in for a parser whose work has been done."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens

    def parse(self, text: str) -> list[Token]:
        return self._tokens


def document(tokens: list[Token]) -> Document:
    """Return the document that was read."""
    return Document(parser_factory=lambda: cast(MarkdownIt, _Read(tokens)), open_links=False)
