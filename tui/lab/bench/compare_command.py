"""`specchat bench compare`: two reports."""

from pathlib import Path

import click

from tui.lab.bench.options import FILE, html, json


@click.command()
@click.argument("a", type=FILE)
@click.argument("b", type=FILE)
@html
@json
def compare(a: Path, b: Path, json_file: Path | None, html_file: Path | None) -> None:
    """Compare two reports that --json has written: B against A, question by question."""
    from assistant.lab.bench.compare_report import load, report
    from tui.lab.bench.output import check_writable, show

    check_writable(json_file, html_file)
    first, second = load(a), load(b)
    shown, differences = report(first, second)
    show(shown, second.facts, {"differences": differences}, json_file, html_file)
