"""A report as lines of text."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from assistant.lab.bench.report import Report, Section, Table

WIDTH = 79


def lines(report: Report) -> Iterator[str]:
    """Yield the sections' tables and sentences; plots are for the HTML report."""
    for section in report.sections:
        yield from _section(section, len(report.sections) > 1)


def _section(section: Section, is_titled: bool) -> Iterator[str]:
    if is_titled:
        yield from (section.title, "=" * len(section.title), "")
    for table in section.tables:
        yield from _table(table)
        yield ""
    for text in section.text:
        yield from wrap(text, WIDTH)
    yield ""


def _table(table: Table) -> Iterator[str]:
    """Yield a table; of two columns of names, the first becomes lines of their own."""
    groups = table.names > 1
    rows = [row[groups:] for row in (table.header, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield table.title
    yield _row(rows[0], widths, table.names - groups)
    before = None
    for row in table.rows:
        if groups and row[0] != before:
            yield row[0]
        yield _row(row[groups:], widths, table.names - groups)
        before = row[0]
    if table.note:
        yield from _wrapped(table.note)


def _row(cells: Sequence[str], widths: Sequence[int], names: int) -> str:
    padded = [
        cell.ljust(width) if i < names else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return f"  {'  '.join(padded)}".rstrip()


def _wrapped(text: str) -> Iterator[str]:
    yield from wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ")
