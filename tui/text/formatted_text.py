"""Markdown as styled text, in which each character knows its position in the source."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate

from markdown_it.token import Token
from textual.content import Content
from textual.highlight import (
    ANSIDarkHighlightTheme,
    ANSILightHighlightTheme,
    HighlightTheme,
    highlight,
)

from tui.text.fragment import (
    DRAWN,
    BlockPart,
    Fragment,
    Ghosts,
    HorizontalRule,
    Table,
    drawn,
    expand_tabs,
    join,
    plain,
    with_ghosts,
)
from tui.text.markdown_reading import Block

STYLES = {"em_open": "italic", "strong_open": "bold", "s_open": "strike"}
HEADING, CODE = "bold $text-accent", "$text-accent"
GROUND = "on $panel 60%"
"""The background of a block of code."""
BULLETS, FRAME = "•◦▪", "▌ "
SIDES = {"text-align:center": 0.5, "text-align:right": 1.0}  # as the parser names them
_FAINT = re.compile(r" \d+%")


class SyntaxTheme(HighlightTheme):
    """The colours of code, all legible on the background of an accepted draft."""

    STYLES = {  # noqa: RUF012
        kind: _FAINT.sub("", style.replace("$text 60%", "$foreground-muted"))
        for kind, style in HighlightTheme.STYLES.items()
    }


class Formatter:
    """Format the blocks of a source; `offset` is where it begins in the whole text."""

    def __init__(self, source: str, offset: int, ghosts: Ghosts, ansi: bool, dark: bool) -> None:
        self.ghosts = ghosts
        """Rejected drafts that are not shown yet; each is removed when it is shown."""
        self._source, self._offset = source, offset
        self._ansi, self._dark = ansi, dark
        self._lines = source.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]
        self._cursor = 0  # the source before it has been shown
        # What each open container draws before its next line, and before those after it.
        self._containers: list[tuple[Fragment, str]] = []
        self._style = ""  # of the open heading

    def parts(self, block: Block, is_last: bool = False) -> list[BlockPart]:
        """Return the parts of a block; the last of a text shows all remaining rejected drafts."""
        self._cursor = self._starts[block.first]
        parts = [*self._parts(block)]
        if is_last and isinstance(body := parts[-1].body, Fragment):
            parts[-1] = replace(parts[-1], body=with_ghosts(body, self.ghosts, everything=True))
        return parts

    def position(self, line: int) -> int:
        """Return where a line of the source begins in the whole text."""
        return self._offset + self._starts[line]

    def size(self, block: Block) -> int:
        """Return how many characters a block has."""
        return min(self._starts[block.last], len(self._source)) - self._starts[block.first]

    def _parts(self, block: Block) -> Iterator[BlockPart]:
        self._containers, self._style = [], ""
        tokens = iter(block.tokens)
        for token in tokens:
            body: Fragment | Table | HorizontalRule | None = None
            match token.type:
                case "list_item_open":
                    self._containers.append(self._bullet(token))
                case "blockquote_open":
                    self._skip(">")
                    self._containers.append((drawn(FRAME), FRAME))
                case "heading_open":
                    self._skip(token.markup)
                    self._style = HEADING + (" underline" if len(token.markup) < 3 else "")
                case "heading_close":
                    self._style = ""
                case "inline":
                    body = self._inline(token, self._style)
                case "hr":
                    body = HorizontalRule()
                case "table_open":
                    body = self._table(token, tokens)
                case "fence" | "code_block":
                    body = self._code(token, labelled=not block.opening)
                case "list_item_close" if self._containers[-1][0].content.plain.strip():
                    body = Fragment(Content(""), ())  # an item without text shows its bullet
            if body is not None:
                line = (token.map or [block.first])[0]
                after_blank = line > block.first and not self._lines[line - 1].strip(" \t>")
                yield self._part(body, after_blank, token.type in ("fence", "code_block"))
            if token.type in ("list_item_close", "blockquote_close"):
                self._containers.pop()

    def _bullet(self, token: Token) -> tuple[Fragment, str]:
        """Return what an item of a list draws before its first line, and before the others."""
        mark = token.info + token.markup
        start = self._skip(mark) + self._offset
        depth = sum(rest != FRAME for _, rest in self._containers)  # the items around it
        bullet = drawn(f"{BULLETS[depth % len(BULLETS)]} ")
        if token.info:  # a number is written by the model
            bullet = Fragment(drawn(f"{mark} ").content, range(start, start + len(mark)))
        return bullet, " " * len(bullet.content)

    def _part(
        self, body: Fragment | Table | HorizontalRule, after_blank: bool, is_code: bool
    ) -> BlockPart:
        """Return a part with the bullets and frames of its containers, each bullet once."""
        frame, ground = (FRAME, GROUND) if is_code else ("", "")
        first = join([*(first for first, _ in self._containers), drawn(frame)])
        rest = "".join(rest for _, rest in self._containers)
        self._containers = [(drawn(own), own) for _, own in self._containers]
        return BlockPart(body, first, rest + frame, after_blank, ground)

    def _skip(self, mark: str) -> int:
        """Move the cursor to the end of a mark; return where the mark begins."""
        start = self._source.find(mark, self._cursor)
        self._cursor = start + len(mark)
        return start

    def _inline(self, token: Token, style: str) -> Fragment:
        """Return the text of a paragraph, a heading or a cell."""
        parts = list[Fragment]()
        styles = [style] if style else []  # of the marks that are open
        begin = self._starts[token.map[0]] if token.map else 0
        self._cursor = max(self._cursor, begin)
        for child in token.children or ():
            if child.type == "softbreak":
                parts.append(Fragment(Content("\n"), [self._skip("\n") + self._offset]))
            elif child.nesting > 0:
                self._skip(child.markup)
                styles.append(STYLES[child.type])
            elif child.nesting < 0:
                self._skip(child.markup)
                styles.pop()
            else:
                mark = child.markup if child.type == "code_inline" else ""
                self._skip(mark)
                positions = self._positions(child.content)
                own_style = " ".join([*styles, CODE] if mark else styles)
                parts.append(Fragment(Content.styled(child.content, own_style), positions))
                self._skip(mark)
        return with_ghosts(expand_tabs(join(parts)), self.ghosts)

    def _positions(self, content: str) -> Sequence[int]:
        """Return the positions in the whole text of a text that follows the cursor."""
        start = self._source.find(content, self._cursor)  # elsewhere if a tab is read as spaces
        if start == self._cursor or (start >= 0 and content.strip()):
            self._cursor = start + len(content)
            return range(start + self._offset, self._cursor + self._offset)
        positions = []
        for character in content:
            if character.isspace():  # such as a line break that is shown as a space
                positions.append(self._offset + self._cursor)
            else:
                start = self._source.find(character, self._cursor)
                self._cursor = start + 1 if start >= 0 else self._cursor
                positions.append(self._offset + self._cursor - 1)
        return positions

    def _code(self, token: Token, labelled: bool) -> Fragment:
        """Return code in colours, with its language in the line above."""
        begin = (token.map or [0])[0]
        is_fence = token.type == "fence"
        label, info = drawn(""), token.info.strip()
        if is_fence and labelled and info:
            self._cursor = self._starts[begin]
            self._skip(token.markup)
            label_positions = [*self._positions(info), self.position(begin + 1) - 1]
            label = Fragment(Content.styled(f"{info}\n", DRAWN), label_positions)
        positions = list[int]()
        lines = token.content.removesuffix("\n").split("\n")
        for number, line in enumerate(lines, begin + 1 if is_fence else begin):
            end = self.position(min(number + 1, len(self._starts) - 1))
            positions += range(end - 1 - len(line), end)  # the line break, too
        code = expand_tabs(Fragment(Content("\n".join(lines)), positions[:-1]))
        language = token.info if is_fence else ""
        spans = highlight_code(code.content.plain, language, self._ansi, self._dark).spans
        code = Fragment(Content(code.content.plain, [*spans]), code.positions)
        return with_ghosts(join([label, code]), self.ghosts)

    def _table(self, opening: Token, tokens: Iterator[Token]) -> Table:
        """Return a table, and consume its tokens."""
        rows: list[list[Fragment]] = []
        sides: list[float] = []
        style = ""
        for token in tokens:
            match token.type:
                case "tr_open":
                    rows.append([])
                case "th_open" | "td_open":
                    style = HEADING if token.type == "th_open" else ""
                    if len(rows) == 1:
                        sides.append(SIDES.get(str(token.attrs.get("style")), 0.0))
                case "inline":
                    rows[-1].append(self._inline(token, style))
                case "table_close":
                    break
        begin, end = opening.map or (0, 0)
        source = "\n".join(self._lines[begin:end])
        return Table(rows, sides, plain(source, self.position(begin)))


@lru_cache(maxsize=128)
def highlight_code(code: str, language: str, ansi: bool, dark: bool) -> Content:
    """Return code in the colours of a language, which is never guessed."""
    theme: type[HighlightTheme] = SyntaxTheme
    if ansi:
        theme = ANSIDarkHighlightTheme if dark else ANSILightHighlightTheme
    name = language.split()[0].lower() if language.split() else "text"
    return highlight(code, language=name, theme=theme)
