"""Where a report goes: standard output, a JSON file, an HTML file."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

import click

from assistant.lab.bench.report import Report, ReportTable, Section
from assistant.lab.bench.run_answers import RunAnswer, plain
from models.errors import StorageError
from tui.lab.bench.html import page
from tui.safe import safe

WIDTH = 79
RATES = ("tokens_per_s", "tokens_per_eval", "acceptance_rate")
UNTOLD = {"profile", "rounds", "pace"}
"""Fields of an answer that only the simulator wants."""


def show(
    report: Report,
    facts: Mapping[str, Any],
    figures: Mapping[str, Any],
    json_file: Path | None,
    html_file: Path | None,
) -> None:
    """Print a report, and write it to files.

    Raises:
        StorageError: a file cannot be written.
    """
    click.echo("\n".join(map(safe, lines(report))).rstrip())
    if json_file:
        _write(json_file, json.dumps({**facts, **plain(figures)}, indent=1))
    if html_file:
        _write(html_file, page(report, facts))


def brief(found: Sequence[RunAnswer]) -> list[dict[str, Any]]:
    """Return answers without what only the simulator wants."""
    told: list[dict[str, Any]] = plain(found)
    for fields, answer in zip(told, found, strict=True):
        measured = fields.pop("measured")
        if answer.measured:
            fields |= {name: value for name, value in measured.items() if name not in UNTOLD}
            fields["stats"] |= {name: getattr(answer.measured.stats, name) for name in RATES}
    return told


def check_writable(*paths: Path | None) -> None:
    """Check before hours of measuring that the report can be written.

    Raises:
        StorageError: it cannot.
    """
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise StorageError(f"{path} cannot be written: there is no folder {path.parent}.")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}.") from error
    click.echo(safe(f"Wrote {path}"), err=True)


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


def _table(table: ReportTable) -> Iterator[str]:
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
        yield from wrap(table.note, WIDTH, initial_indent="  ", subsequent_indent="  ")


def _row(cells: Sequence[str], widths: Sequence[int], names: int) -> str:
    padded = [
        cell.ljust(width) if i < names else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return f"  {'  '.join(padded)}".rstrip()
