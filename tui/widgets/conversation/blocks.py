"""Textual's Markdown, with code that wraps, tables without tooltips and links that only ask."""

from functools import lru_cache
from typing import ClassVar, cast

from markdown_it import MarkdownIt
from markdown_it.token import Token
from textual.app import ComposeResult
from textual.content import Content
from textual.highlight import (
    ANSIDarkHighlightTheme,
    ANSILightHighlightTheme,
    HighlightTheme,
    highlight,
)
from textual.widgets import Markdown
from textual.widgets._markdown import MarkdownTable, MarkdownTableContent
from textual.widgets.markdown import MarkdownBlock, MarkdownFence

LONGEST = 20_000
"""Characters of code that are highlighted."""


@lru_cache(maxsize=128)
def highlighted(code: str, language: str, ansi: bool, dark: bool) -> Content:
    """Return code in colours; may be called ahead on any thread, which costs the screen nothing."""
    colours: type[HighlightTheme] = HighlightTheme
    if ansi:
        colours = ANSIDarkHighlightTheme if dark else ANSILightHighlightTheme
    name = language.split()[0].lower() if language.split() else "text"
    return highlight(code, language=name if len(code) <= LONGEST else "text", theme=colours)


class Fence(MarkdownFence):
    """Code, wrapped where it is wider than the screen; its language is said, never guessed."""

    DEFAULT_CSS = """
    Fence {
        margin: 0 0 1 0;
        padding: 0;
        overflow: hidden;
        color: $foreground;
        background: $panel 60%;
        border-left: outer $foreground 25%;
    }
    Fence:light { background: $panel 60%; }
    Fence > Label { width: 100%; padding: 0 1; }
    """

    @classmethod
    def highlight(cls, code: str, language: str, ansi: bool = False, dark: bool = False) -> Content:
        """Return the code in colours."""
        return highlighted(code, language, ansi, dark)


class Cells(MarkdownTableContent):
    """A table's cells; Textual would read their tooltips as markup."""

    def compose(self) -> ComposeResult:
        """Lay out the cells."""
        for cell in super().compose():
            cell.tooltip = None
            yield cell


class Table(MarkdownTable):
    """A table."""

    def compose(self) -> ComposeResult:
        """Lay out the table."""
        self._headers, self._rows = self._get_headers_and_rows()
        yield Cells(self._headers, self._rows)


class Document(Markdown):
    """A Markdown document of a model."""

    BLOCKS: ClassVar[dict[str, type[MarkdownBlock]]] = {  # type: ignore[misc]
        **Markdown.BLOCKS,
        "fence": Fence,
        "code_block": Fence,
        "table_open": Table,
    }
    DEFAULT_CSS = """
    Document {
        padding: 0;
        & MarkdownHeader { margin: 0 0 1 0; content-align: left middle; background: transparent; }
        & MarkdownH1, & MarkdownH2 { color: $text-accent; text-style: bold underline; }
        & MarkdownH3, & MarkdownH4, & MarkdownH5, & MarkdownH6 {
            color: $text-accent; text-style: bold; width: 1fr;
        }
        & MarkdownBlockQuote { margin: 0 0 1 0; }
        & MarkdownHorizontalRule { border-bottom: solid $foreground 25%; }
        & MarkdownTableContent > .header { text-style: bold; color: $text-accent; }
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
