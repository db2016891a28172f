"""The parts of a formatted block: text, tables and rules, with what is drawn beside them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

from tui.chat.conversation.fragment import Fragment, drawn, joined

GAP, NARROWEST = 2, 8
"""Cells between the columns of a table, and those that each needs for its text."""


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
