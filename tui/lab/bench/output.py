"""Where a report goes: standard output, a JSON file, an HTML file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import click

from assistant.lab.bench.report import Report
from assistant.lab.bench.run_answers import RunAnswer
from models.errors import StorageError
from tui.lab.bench.html import page
from tui.lab.bench.text import lines
from tui.safe import safe


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
        _write(json_file, json.dumps({**facts, **_plain(figures)}, indent=1))
    if html_file:
        _write(html_file, page(report, facts))


def brief(found: Sequence[RunAnswer]) -> list[dict[str, Any]]:
    """Return answers without what only the simulator wants."""
    brief = []
    for answer in found:
        fields = asdict(answer)
        fields.pop("measured")
        if answer.measured:
            measured = asdict(answer.measured)
            measured.pop("profile")
            measured.pop("rounds")
            measured.pop("pace")
            rates = ("tokens_per_s", "tokens_per_eval", "acceptance_rate")
            stats = {name: getattr(answer.measured.stats, name) for name in rates}
            fields |= {**measured, "stats": {**measured["stats"], **stats}}
        brief.append(fields)
    return brief


def check_writable(*paths: Path | None) -> None:
    """Find out before hours of measuring whether the report can be written.

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


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
