"""Result tables on a terminal, as Markdown and in a JSON file."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from assistant.lab.table import Cell, ResultTable
from models.errors import StorageError, raising
from tui.formatting import align, bar, width, wrap
from tui.safe import safe

GAP = "  "
BAR = 16  # cells of the longest bar, if it fits


def print_tables(
    tables: Sequence[ResultTable], conditions: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """Print tables, and write their values to a file, if one is named."""
    render = markdown if options["markdown"] else lines
    click.echo("\n\n".join("\n".join(map(safe, render(table))) for table in tables))
    if (path := options["json_file"]) is None:
        return
    facts = {**conditions, "tables": [asdict(table) for table in tables]}
    with raising(StorageError, f"{path} cannot be written"):
        path.write_text(json.dumps(facts, indent=1), "utf-8")
    click.echo(safe(f"Wrote {path}"), err=True)


def lines(table: ResultTable) -> Iterator[str]:
    """Yield a table in columns; the first of two name columns becomes headings.

    In a table that is too wide, each row becomes a line of names above a line of figures.
    """
    headings = 1 if table.names > 1 else 0  # columns that become headings
    names = [name for name, _ in table.header]
    texts = [names, *map(table.text, table.rows)]
    header, *rows = align([cells[headings:] for cells in texts], table.names - headings)
    free = width() - len(_line(header)) - len(GAP)
    yield table.title
    if free < 0:
        yield from (line for row in table.rows for line in _list_row(table, row))
    else:
        bar_cells = min(BAR, free - 3)
        yield _line(header).rstrip()
        before = None
        for row, cells in zip(table.rows, rows, strict=True):
            if headings and row[0] != before:
                yield str(row[0])
            drawn = bar(table.share(row), bar_cells) if bar_cells > 3 else ""
            yield f"{_line(cells).rstrip()}{GAP}{drawn}".rstrip()
            before = row[0]
    yield from wrap(table.note, "  ")


def markdown(table: ResultTable) -> Iterator[str]:
    """Yield a table as Markdown, with the bars in the last column."""
    has_bars = table.bars is not None
    header = [name for name, _ in table.header] + ([""] if has_bars else [])
    yield from (f"### {table.title}", "", f"| {' | '.join(header)} |", "|---" * len(header) + "|")
    for row in table.rows:
        drawn = [bar(table.share(row), BAR)] if has_bars else []
        yield f"| {' | '.join([*table.text(row), *drawn])} |"
    yield from ("", table.note) if table.note else ()


def _list_row(table: ResultTable, row: Sequence[Cell]) -> Iterator[str]:
    cells, names = table.text(row), table.names
    columns = zip(table.header, cells, row, strict=True)
    figures = [f"{name} {text}".strip() for (name, _), text, cell in columns if cell is not None]
    yield from wrap(" ".join(cells[:names]), "  ")
    yield from wrap(", ".join(figures[names:]), "    ")


def _line(cells: Sequence[str]) -> str:
    return GAP + GAP.join(cells)
