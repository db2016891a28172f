"""Displayed text whose characters know their positions in the source, and blocks of it."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, zip_longest
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content, Span

from tui.app.textual_private import divide_line
from tui.text.token_styles import COLOURED, GHOST

DRAWN = "$foreground-muted"
"""The style of frames, bullets and rules: they are drawn, and are not in the source."""
TAB = 8
Ghosts = deque[tuple[int, str]]
"""Rejected drafts, each after the position of the token that replaced it."""


class Fragment(NamedTuple):
    """Displayed text, and the position of each character in the source; -1 for drawn ones."""

    content: Content
    positions: Sequence[int]  # all characters after the last of them are drawn

    def wrapped(self, width: int) -> "list[Fragment]":
        """Return the lines of a width."""
        offsets = breaks(self.content.plain, width)
        parts = zip(self.content.divide(offsets), pairwise([0, *offsets, None]), strict=True)
        return [
            Fragment(_line(content, end is None, width), self.positions[begin:end])
            for content, (begin, end) in parts
        ]

    def followed_by(self, mark: Content) -> "Fragment":
        """Return the fragment with a mark after its text, which replaces the first drawn cell."""
        end = min(len(self.positions), len(self.content))
        return Fragment(self.content[:end] + mark + self.content[end + 1 :], self.positions)


def plain(text: str, position: int, column: int = 0) -> Fragment:
    """Return lines of the source, the first of them from a column on, unformatted."""
    return expand_tabs(Fragment(Content(text), range(position, position + len(text))), column)


def expand_tabs(fragment: Fragment, column: int = 0) -> Fragment:
    """Return text with spaces for its tabs; its first character is in a column of its line."""
    content, expanded = fragment.content, list[str]()  # each character, or its spaces
    for character in content.plain:
        expanded.append(" " * (TAB - column % TAB) if character == "\t" else character)
        column = 0 if character == "\n" else column + len(expanded[-1])
    starts = [0, *accumulate(map(len, expanded))]
    spans = [Span(starts[begin], starts[end], style) for begin, end, style in content.spans]
    positions = [p for p, part in zip(fragment.positions, expanded, strict=False) for _ in part]
    return Fragment(Content("".join(expanded), spans), positions)


def drawn(text: str, style: str = DRAWN) -> Fragment:
    """Return a text that is not in the source."""
    return Fragment(Content.styled(text, style), [-1] * len(text))


def join(parts: Iterable[Fragment]) -> Fragment:
    """Return fragments as one."""
    contents, positions = list[Content](), list[int]()
    for content, known in parts:
        contents.append(content)
        positions += [*known[: len(content)], *[-1] * (len(content) - len(known))]
    return Fragment(Content("").join(contents), positions)


def with_ghosts(fragment: Fragment, ghosts: Ghosts, everything: bool = False) -> Fragment:
    """Return a fragment with the rejected drafts before the tokens that replaced them."""
    content, positions = fragment.content, [*fragment.positions]
    last = max(positions, default=-1)
    while ghosts and (everything or ghosts[0][0] <= last):
        position, text = ghosts.popleft()
        index = next((i for i, p in enumerate(positions) if p >= position), len(positions))
        content = content[:index] + Content.styled(text, COLOURED[GHOST]) + content[index:]
        positions[index:index] = [-1] * len(text)
    return Fragment(content, positions)


def breaks(text: str, width: int) -> list[int]:
    """Return where the second line of a text begins, and each after it."""
    starts, begin = list[int](), 0
    for line in text.split("\n"):
        starts += [begin, *(begin + offset for offset in divide_line(line, width))]
        begin += len(line) + 1
    return starts[1:]


def _line(content: Content, is_last: bool, width: int) -> Content:
    """Return a line without its line break, and without the space where it was wrapped."""
    if content.plain.endswith("\n"):
        content = content[:-1]
        is_last = True
    content = content.rstrip_end(width) if is_last else content.rstrip()
    return content.truncate(width)


GAP, NARROWEST = 2, 8
"""Cells between the columns of a table, and the fewest of a column that remains legible."""


class Table(NamedTuple):
    """The cells of a table, row by row."""

    rows: Sequence[Sequence[Fragment]]
    sides: Sequence[float]
    """For each column, the share of the free cells that is before the text."""
    written: Fragment
    """The source, which is shown where the table is too wide."""

    def wrapped(self, width: int) -> list[Fragment]:
        """Return the lines: columns are as wide as their content, the widest shrink to fit."""
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
    """Drawn before its first line, and before the others."""
    after_blank: bool = False
    """Whether a blank line is before it."""
    ground: str = ""
    """The background across the whole width."""

    def lines(self, width: int) -> Iterator[Fragment]:
        """Yield its lines; marks on the left take half of a line at most."""
        content, positions = self.first
        cut = max(0, len(content) - width // 2)
        first, rest = Fragment(content[cut:], positions[cut:]), self.rest[cut:]
        if self.after_blank:
            yield drawn(rest.rstrip())
        for number, line in enumerate(self.body.wrapped(max(width - cell_len(rest), 1))):
            left = first if number == 0 else drawn(rest)
            row = join([left, line]) if rest else line
            if self.ground:
                content = row.content.pad_right(max(0, width - row.content.cell_length))
                row = Fragment(content.stylize_before(self.ground, len(rest)), row.positions)
            yield row


def _column_widths(rows: Sequence[Sequence[Fragment]], width: int) -> list[int]:
    """Return the widths of the columns, the widest shrunk to fit; none if they cannot fit."""
    columns = zip(*rows, strict=True)
    widths = [max(cell.content.cell_length for cell in column) for column in columns]
    free = width - GAP * (len(widths) - 1)
    fits = (cap for cap in range(free, 0, -1) if sum(min(w, cap) for w in widths) <= free)
    widest = next(fits, 0)
    enough = widest >= min(NARROWEST, max(widths, default=0))
    return [max(min(w, widest), 1) for w in widths] if enough else []


def _table_row(
    cells: Sequence[Fragment], widths: Sequence[int], sides: Sequence[float]
) -> Iterator[Fragment]:
    """Yield the lines of a row: a cell that is wider than its column is wrapped."""
    wrapped = [cell.wrapped(width) for cell, width in zip(cells, widths, strict=True)]
    for parts in zip_longest(*wrapped, fillvalue=Fragment(Content(""), ())):
        row: list[Fragment] = []
        for part, width, side in zip(parts, widths, sides, strict=True):
            free = width - part.content.cell_length
            before = int(side * free)
            gap = GAP if row else 0
            row += [drawn(" " * (gap + before)), part, drawn(" " * (free - before))]
        yield join(row)
