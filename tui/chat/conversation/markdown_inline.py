"""What is within a paragraph, a heading or a cell, with the spaces and lines that were written."""

from collections.abc import Iterable

from markdown_it.token import Token
from textual.content import Content, Span
from textual.style import Style
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownBlock

STYLES = {"em_open": ".em", "strong_open": ".strong", "s_open": ".s"}
HOLDERS = ("paragraph_open", "h1", "h2", "h3", "h4", "h5", "h6", "th_open", "td_open")
"""The blocks that hold text; Textual's own would make one space of many."""


class Written(MarkdownBlock):
    """A block whose text is as it was written."""

    def build_from_token(self, token: Token) -> None:
        """Show what is within."""
        self._inline_token = token
        self.set_content(content(token.children or ()))


BLOCKS = {
    name: type(kind.__name__, (kind, Written), {})  # styles are those of the first
    for name, kind in Markdown.BLOCKS.items()
    if name in HOLDERS
}


def content(children: Iterable[Token]) -> Content:
    """Return inline tokens as text with styles; links can be clicked."""
    text, spans = "", list[Span]()
    opened: list[tuple[str | Style, int]] = []
    for child in children:
        before = len(text)
        written = "\n" + child.content if child.type == "softbreak" else child.content
        text = (text + written).expandtabs()
        if child.type == "code_inline":
            spans.append(Span(before, len(text), ".code_inline"))
        elif child.nesting > 0:
            opened.append((_style(child), before))
        elif child.nesting < 0:
            style, begin = opened.pop()
            spans.append(Span(begin, before, style))
    return Content(text, spans)


def _style(token: Token) -> str | Style:
    if token.type == "link_open":
        return Style.from_meta({"@click": f"link({str(token.attrs['href'])!r})"})
    return STYLES[token.type]
