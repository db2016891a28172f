"""What a model wrote, read back from the words on the screen, with their formatting as marks."""

import re
from collections.abc import Iterator
from itertools import chain

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Markdown
from textual.widgets._markdown import (
    MarkdownBlockQuote,
    MarkdownFence,
    MarkdownHeader,
    MarkdownHorizontalRule,
    MarkdownTableContent,
)

from tui.chat.conversation.markdown_blocks import Table

MARKS = {".strong": r"\*\*", ".em": r"\*", ".s": "~~", ".code_inline": "`"}
"""Patterns of marks that became a style, in a source that `canonical` has made."""
UNSEEN = re.compile("[\\s\u200b\u00ad]+")


def canonical(source: str) -> str:
    """Return a source in which marks that mean the same are the same, without spaces."""
    source = re.sub("`+", "`", source)
    return UNSEEN.sub("", source.translate(str.maketrans("_-+•▪‣⭑◦", "********")))


def is_shown(words: Widget, source: str) -> bool:
    """Return whether a source is on the screen in these words.

    Every character that is painted was written, in this order; what was written and is not painted
    is a mark of the style, the bullet, the rule, the code, the table or the link that is.
    """
    read = "".join(piece for document in words.query(Markdown) for piece in _of(document))
    written = canonical(source)
    if words.query(MarkdownBlockQuote):
        read, written = read.replace(">", ""), written.replace(">", "")
    return re.fullmatch(read, written) is not None


def _of(widget: Widget) -> Iterator[str]:
    for child in widget.children:
        if not child.display:
            continue
        match child:
            case MarkdownHeader():
                yield f"{'#' * child.LEVEL}{_text(child._content)}"
            case MarkdownHorizontalRule():
                yield r"\*{3,}"
            case MarkdownFence():
                label = "".join(_text(label.render()) for label in child.query("Label"))
                yield f"(?:(?:`|~{{3,}}){label}(?:`|~{{3,}})?|{label})"
            case _ if child.has_class("source") and isinstance(child.parent, Table):
                yield _text(child.render())
            case MarkdownTableContent():
                heads, *rows = [[*map(_cell, row)] for row in (child.headers, *child.rows)]
                yield r"\|*".join(["", *heads, r"[|:*]+", *chain(*rows), ""])
            case _ if child.children:
                yield from _of(child)
            case _ if isinstance(shown := child.render(), Content):
                yield _text(shown)


def _cell(content: Content) -> str:
    return _text(content).replace(r"\|", r"\\?\|")


def _text(shown: object) -> str:
    """Return a pattern for a text with styles."""
    assert isinstance(shown, Content)
    marks: list[tuple[int, int, int, int, str]] = []  # place, closing first, outermost first
    for number, span in enumerate(shown.spans):  # inner ones come first
        opens = closes = MARKS.get(str(span.style), "")
        if getattr(span.style, "meta", None):
            opens, closes = r"\[?", r"\]?"
        marks += [(span.start, 1, -span.end, -number, opens)]
        marks += [(span.end, 0, -span.start, number, closes)]
    pieces, at = [], 0
    for place, *_, mark in sorted(marks):
        pieces += [_escaped(shown.plain[at:place]), mark]
        at = place
    return "".join([*pieces, _escaped(shown.plain[at:])])


def _escaped(text: str) -> str:
    return re.escape(canonical(text.replace("[picture: ", "![")))
