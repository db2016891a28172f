"""Tables on a terminal, as Markdown and in a JSON file, for all laboratories."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from textwrap import wrap
from typing import Any

import click

from assistant.lab.table import Cell, ResultTable
from models.errors import StorageError
from tui.safe import safe
from tui.widgets.text_figures import bar

WIDTH = 79
BAR = 16  # cells of the longest bar, where there is room


def show(
    tables: Sequence[ResultTable], about: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """Print tables, and write their values to a file.

    Raises:
        StorageError: it cannot be written.
    """
    form = markdown if options["markdown"] else lines
    click.echo("\n\n".join("\n".join(map(safe, form(table))) for table in tables))
    if (path := options["json_file"]) is None:
        return
    facts = {**about, "tables": [asdict(table) for table in tables]}
    try:
        path.write_text(json.dumps(facts, indent=1), "utf-8")
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}.") from error
    click.echo(safe(f"Wrote {path}"), err=True)


def lines(table: ResultTable) -> Iterator[str]:
    """Yield a table in columns; of two columns of names, the first becomes lines of its own.

    Where it is too wide for that, each row becomes its names, and below them its figures.
    """
    groups = table.names > 1
    rows = [table.text(row)[groups:] for row in table.rows]
    header = [name for name, _ in table.header][groups:]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    left = WIDTH - sum(widths) - 2 * len(widths)
    yield table.title
    if left < 0:
        yield from (line for row in table.rows for line in _listed(table, row))
    else:
        room, names = min(BAR, left - 3), table.names - groups
        yield _row(header, widths, names)
        before = None
        for row, cells in zip(table.rows, rows, strict=True):
            if groups and row[0] != before:
                yield str(row[0])
            drawn = bar(table.share(row), room) if table.bars is not None and room > 3 else ""
            yield f"{_row(cells, widths, names)}  {drawn}".rstrip()
            before = row[0]
    yield from wrap(table.note, WIDTH, initial_indent="  ", subsequent_indent="  ")


def markdown(table: ResultTable) -> Iterator[str]:
    """Yield a table as Markdown, its bars in a last column."""
    has_bars = table.bars is not None
    header = [name for name, _ in table.header] + [""] * has_bars
    yield from (f"### {table.title}", "", f"| {' | '.join(header)} |", "|---" * len(header) + "|")
    for row in table.rows:
        drawn = [bar(table.share(row), BAR)] if has_bars else []
        yield f"| {' | '.join([*table.text(row), *drawn])} |"
    yield from ("", table.note) if table.note else ()


def _listed(table: ResultTable, row: Sequence[Cell]) -> Iterator[str]:
    cells, names = table.text(row), table.names
    figures = [
        f"{name} {text}".strip()
        for (name, _), text, cell in zip(table.header, cells, row, strict=True)
        if cell is not None
    ]
    yield from wrap(" ".join(cells[:names]), WIDTH, initial_indent="  ", subsequent_indent="  ")
    below = ", ".join(figures[names:])
    yield from wrap(below, WIDTH, initial_indent="    ", subsequent_indent="    ")


def _row(cells: Sequence[str], widths: Sequence[int], names: int) -> str:
    padded = [
        cell.ljust(width) if i < names else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return f"  {'  '.join(padded)}".rstrip()
