"""Markdown as styled text of which each character knows its position in the source."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, pairwise, zip_longest
from typing import NamedTuple

from markdown_it.token import Token
from rich.cells import cell_len
from textual.content import Content, Span
from textual.highlight import (
    ANSIDarkHighlightTheme,
    ANSILightHighlightTheme,
    HighlightTheme,
    highlight,
)

from tui.app.textual_private import divide_line
from tui.chat.conversation.markdown_reading import Block
from tui.widgets.token_styles import COLOURED, GHOST

STYLES = {"em_open": "italic", "strong_open": "bold", "s_open": "strike"}
HEADING, CODE, DRAWN = "bold $text-accent", "$text-accent", "$foreground-muted"
GROUND = "on $panel 60%"
"""The ground of a block of code."""
Ghosts = deque[tuple[int, str]]
"""Wrong guesses, and the positions of the tokens that replaced them."""
BULLETS = "•◦▪"
TAB = 8
GAP, NARROWEST = 2, 8
"""Cells between the columns of a table, and those that each needs for its text."""
_FAINT = re.compile(r" \d+%")


class SyntaxTheme(HighlightTheme):
    """The colours of code, none of them too faint for the ground of a right guess."""

    STYLES = {  # noqa: RUF012
        kind: _FAINT.sub("", style.replace("$text 60%", "$foreground-muted"))
        for kind, style in HighlightTheme.STYLES.items()
    }


class Fragment(NamedTuple):
    """Text as it is shown, and the position in the source of each character; -1: it is drawn."""

    content: Content
    positions: Sequence[int]  # what is shown after them is drawn

    def wrapped(self, width: int) -> "list[Fragment]":
        """Return the lines of a width."""
        return self.divided(breaks(self.content.plain, width), width)

    def ending(self, count: int) -> "Fragment":
        """Return the last so many characters."""
        begin = max(0, len(self.content) - count)
        return Fragment(self.content[begin:], self.positions[begin:])

    def divided(self, offsets: Sequence[int], width: int) -> "list[Fragment]":
        """Return the lines that begin at offsets, cut to a width."""
        parts = zip(self.content.divide(offsets), pairwise([0, *offsets, None]), strict=True)
        return [
            Fragment(_line(content, end is None, width), self.positions[begin:end])
            for content, (begin, end) in parts
        ]


class Table(NamedTuple):
    """The cells of a table, row by row."""

    rows: Sequence[Sequence[Fragment]]
    sides: Sequence[float]
    """For each column, the part of the free cells that is before the text."""
    written: Fragment
    """Its source, which is shown where it is too wide."""

    def wrapped(self, width: int) -> list[Fragment]:
        """Return the lines: the columns as wide as their content, the widest give way."""
        widths = _column_widths(self.rows, width)
        if not widths:
            return self.written.wrapped(width)
        head, *rows = ([*_table_row(row, widths, self.sides)] for row in self.rows)
        rule = drawn("─" * (sum(widths) + GAP * (len(widths) - 1)))
        return [*head, rule, *(line for row in rows for line in row)]


class HorizontalRule(NamedTuple):
    """A line from one side to the other."""

    def wrapped(self, width: int) -> list[Fragment]:
        """Return the line."""
        return [drawn("─" * width)]


@dataclass(frozen=True, slots=True)
class BlockPart:
    """A part of a block, and what is drawn on its left."""

    body: Fragment | Table | HorizontalRule
    first: Fragment
    rest: str
    """What is drawn before its first line, and before the others."""
    apart: bool = False
    """Whether a blank line is before it."""
    ground: str = ""
    """The style of all the width."""

    def lines(self, width: int) -> Iterator[Fragment]:
        """Yield its lines; marks on the left take half of a line at most."""
        first, rest = self.first.ending(width // 2), self.rest[-(width // 2) :]
        if self.apart:
            yield drawn(rest.rstrip())
        for number, line in enumerate(self.body.wrapped(max(width - cell_len(rest), 1))):
            row = joined([drawn(rest) if number else first, line]) if rest else line
            if self.ground:
                content = row.content.pad_right(max(0, width - row.content.cell_length))
                row = Fragment(content.stylize_before(self.ground, len(rest)), row.positions)
            yield row


class Formatter:
    """Format the blocks of a source; `offset` is where it begins in the whole text."""

    def __init__(self, source: str, offset: int, ghosts: Ghosts, ansi: bool, dark: bool) -> None:
        self.ghosts = ghosts
        """Wrong guesses that are not shown yet; they are taken from here."""
        self._source, self._offset = source, offset
        self._ansi, self._dark = ansi, dark
        self._lines = source.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]
        self._cursor = 0  # what is before it has been shown

    def parts(self, block: Block, is_last: bool = False) -> list[BlockPart]:
        """Return the parts of a block; the last of a text has all wrong guesses that are left."""
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
        containers: list[tuple[Fragment, str]] = []  # what is before the next line, and the others
        style, lists = "", int(block.is_item)
        tokens = iter(block.tokens)
        for token in tokens:
            line = (token.map or [block.first])[0]
            apart = line > block.first and not self._lines[line - 1].strip(" \t>")
            body: Fragment | Table | HorizontalRule | None = None
            ground = ""
            match token.type:
                case "bullet_list_open" | "ordered_list_open":
                    lists += 1
                case "bullet_list_close" | "ordered_list_close":
                    lists -= 1
                case "list_item_open":
                    mark = token.info + token.markup
                    at = self._pass(mark) + self._offset
                    bullet = drawn(f"{BULLETS[(lists - 1) % len(BULLETS)]} ")
                    if token.info:  # a number is said by the model
                        bullet = Fragment(drawn(f"{mark} ").content, range(at, at + len(mark)))
                    containers.append((bullet, " " * len(bullet.content)))
                case "blockquote_open":
                    self._pass(">")
                    containers.append((drawn("▌ "), "▌ "))
                case "list_item_close" | "blockquote_close":
                    if containers[-1][0].content != containers[-1][1]:  # it has shown nothing
                        body, apart = Fragment(Content(""), ()), False
                case "heading_open":
                    self._pass(token.markup)
                    style = HEADING + " underline" * (len(token.markup) < 3)
                case "heading_close":
                    style = ""
                case "inline":
                    body = self._inline(token, style)
                case "hr":
                    body = HorizontalRule()
                case "table_open":
                    body = self._table(token, tokens)
                case "fence" | "code_block":
                    ground = GROUND
                    body = self._code(token, labelled=not block.opening)
            if body is not None:
                frame = "▌ " if ground else ""
                first = joined([*(first for first, _ in containers), drawn(frame)])
                rest = "".join(rest for _, rest in containers) + frame
                containers = [(drawn(rest), rest) for _, rest in containers]
                yield BlockPart(body, first, rest, apart, ground)
            if token.type in ("list_item_close", "blockquote_close"):
                containers.pop()

    def _pass(self, mark: str) -> int:
        """Move on to the end of a mark; return where it begins."""
        at = self._source.find(mark, self._cursor)
        self._cursor = at + len(mark)
        return at

    def _inline(self, token: Token, style: str = "") -> Fragment:
        """Return the text of a paragraph, a heading or a cell."""
        text = _Text()
        opened: list[tuple[str, int]] = []
        begin = self._starts[token.map[0]] if token.map else 0
        self._cursor = max(self._cursor, begin)
        for child in token.children or ():
            if child.type == "softbreak":
                at = self._source.find("\n", self._cursor)
                text.write("\n", [at])
                self._cursor = at + 1
            elif child.nesting > 0:
                self._pass(child.markup)
                opened.append((STYLES[child.type], len(text.plain)))
            elif child.nesting < 0:
                self._pass(child.markup)
                text.style(*opened.pop())
            else:
                self._pass(child.markup if child.type == "code_inline" else "")
                start = len(text.plain)
                text.write(child.content, self._positions(child.content))
                self._pass(child.markup if child.type == "code_inline" else "")
                text.style(CODE if child.type == "code_inline" else "", start)
        text.style(style, 0)
        return with_ghosts(text.fragment(self._offset), self.ghosts)

    def _positions(self, content: str) -> Sequence[int]:
        """Return the positions in the source of a text that follows the cursor."""
        at = self._source.find(content, self._cursor)
        if at >= 0:
            self._cursor = at + len(content)
            return range(at, self._cursor)
        positions = []
        for character in content:
            at = self._source.find(character, self._cursor)
            if at >= 0 and not character.isspace():  # a line break is shown as a space
                self._cursor = at + 1
            positions.append(self._cursor - (not character.isspace()))
        return positions

    def _code(self, token: Token, labelled: bool) -> Fragment:
        """Return code in colours, with its language in the line above."""
        text = _Text()
        begin = (token.map or [0])[0]
        is_fence = token.type == "fence"
        if is_fence and labelled and token.info.strip():
            self._cursor = self._starts[begin]
            self._pass(token.markup)
            text.write(token.info.strip(), self._positions(token.info.strip()))
            text.style(DRAWN, 0)
            text.write("\n", [self._starts[begin + 1] - 1])
        start = len(text.plain)
        lines = token.content.removesuffix("\n").split("\n")
        for number, line in enumerate(lines, begin + is_fence):
            at = self._starts[min(number + 1, len(self._starts) - 1)] - 1 - len(line)
            text.write(line, range(at, at + len(line)))
            if number < begin + is_fence + len(lines) - 1:
                text.write("\n", [at + len(line)])
        code = highlighted(
            text.plain[start:], token.info if is_fence else "", self._ansi, self._dark
        )
        text.spans += [Span(s.start + start, s.end + start, s.style) for s in code.spans]
        return with_ghosts(text.fragment(self._offset), self.ghosts)

    def _table(self, opening: Token, tokens: Iterator[Token]) -> Table:
        """Return a table, whose tokens are taken up to its end."""
        rows: list[list[Fragment]] = []
        sides: list[float] = []
        style = ""
        for token in tokens:
            match token.type:
                case "tr_open":
                    rows.append([])
                case "th_open" | "td_open":
                    style = HEADING if token.type == "th_open" else ""
                    side = str(token.attrs.get("style", ""))
                    if len(rows) == 1:
                        sides.append(1.0 if "right" in side else 0.5 if "center" in side else 0.0)
                case "inline":
                    rows[-1].append(self._inline(token, style))
                case "table_close":
                    break
        begin, end = opening.map or (0, 0)
        written = _Text()
        source = "\n".join(self._lines[begin:end])
        written.write(source, range(self._starts[begin], self._starts[begin] + len(source)))
        return Table(rows, sides, written.fragment(self._offset))


class _Text:
    """Text that is written piece by piece."""

    def __init__(self, column: int = 0) -> None:
        self.plain, self.spans = "", list[Span]()
        self._column = column  # of the first line
        self._positions: list[int] = []

    def write(self, text: str, positions: Iterable[int]) -> None:
        """Append characters of the source; a tab reaches to the next eighth cell."""
        if "\t" not in text:
            self.plain += text
            self._positions += positions
            return
        for character, position in zip(text, positions, strict=True):
            line = self.plain.rfind("\n") + 1
            column = len(self.plain) - line + (0 if line else self._column)
            shown = " " * (TAB - column % TAB) if character == "\t" else character
            self.plain += shown
            self._positions += [position] * len(shown)

    def style(self, style: str, begin: int) -> None:
        """Give everything from a place on a style."""
        if style and begin < len(self.plain):
            self.spans.append(Span(begin, len(self.plain), style))

    def fragment(self, offset: int) -> Fragment:
        """Return the text; `offset` is added to each position."""
        return Fragment(Content(self.plain, self.spans), [at + offset for at in self._positions])


def with_ghosts(fragment: Fragment, ghosts: Ghosts, everything: bool = False) -> Fragment:
    """Return a fragment with the wrong guesses before the tokens that replaced them."""
    content, positions = fragment.content, [*fragment.positions]
    last = max(positions, default=-1)
    while ghosts and (everything or ghosts[0][0] <= last):
        at, text = ghosts.popleft()
        index = next((i for i, p in enumerate(positions) if p >= at), len(positions))
        content = content[:index] + Content.styled(text, COLOURED[GHOST]) + content[index:]
        positions[index:index] = [-1] * len(text)
    return Fragment(content, positions)


def plain(text: str, position: int, column: int = 0) -> Fragment:
    """Return a line of the source, or what is in it from a column on, as it is written."""
    line = _Text(column)
    line.write(text, range(len(text)))
    return line.fragment(position)


def drawn(text: str, style: str = DRAWN) -> Fragment:
    """Return a text that is not in the source."""
    return Fragment(Content.styled(text, style), [-1] * len(text))


def joined(parts: Iterable[Fragment]) -> Fragment:
    """Return fragments as one."""
    contents, positions = list[Content](), list[int]()
    for content, known in parts:
        contents.append(content)
        positions += [*known, *[-1] * (len(content) - len(known))][: len(content)]
    return Fragment(Content("").join(contents), positions)


def breaks(text: str, width: int) -> list[int]:
    """Return where the second line of a text begins, and each after it."""
    found, begin = list[int](), 0
    for paragraph in text.split("\n"):
        found += [begin] * (begin > 0) + [begin + at for at in divide_line(paragraph, width)]
        begin += len(paragraph) + 1
    return found


@lru_cache(maxsize=128)
def highlighted(code: str, language: str, ansi: bool, dark: bool) -> Content:
    """Return code in the colours of a language, which is never guessed."""
    theme: type[HighlightTheme] = SyntaxTheme
    if ansi:
        theme = ANSIDarkHighlightTheme if dark else ANSILightHighlightTheme
    name = language.split()[0].lower() if language.split() else "text"
    return highlight(code, language=name, theme=theme)


def _line(content: Content, is_last: bool, width: int) -> Content:
    """Return a line without the space that the next one begins after."""
    if content.plain.endswith("\n"):
        content = content[:-1]
        is_last = True
    content = content.rstrip_end(width) if is_last else content.rstrip()
    return content.truncate(width)


def _column_widths(rows: Sequence[Sequence[Fragment]], room: int) -> list[int]:
    """Return how wide columns are; the widest give way. None are left where it is too narrow."""
    columns = zip(*rows, strict=True)
    widths = [max(cell.content.cell_length for cell in column) for column in columns]
    room -= GAP * (len(widths) - 1)
    fits = (most for most in range(room, 0, -1) if sum(min(w, most) for w in widths) <= room)
    most = next(fits, 0)
    enough = most >= min(NARROWEST, max(widths, default=0))
    return [max(min(width, most), 1) for width in widths] if enough else []


def _table_row(
    cells: Sequence[Fragment], widths: Sequence[int], sides: Sequence[float]
) -> Iterator[Fragment]:
    """Yield the lines of a row: a cell that is wider than its column is wrapped."""
    wrapped = [cell.wrapped(width) for cell, width in zip(cells, widths, strict=True)]
    for parts in zip_longest(*wrapped, fillvalue=Fragment(Content(""), ())):
        row: list[Fragment] = []
        for part, width, side in zip(parts, widths, sides, strict=True):
            free = width - part.content.cell_length
            before = int(side * free) + GAP * bool(row)
            row += [drawn(" " * before), part, drawn(" " * (free - int(side * free)))]
        yield joined(row)
