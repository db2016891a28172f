"""`specchat bench`: what speculation is worth with your pair, on your machine."""

from pathlib import Path

import click

from tui.lab.bench.options import FILE, html, json
from tui.lab.bench.paper_command import paper
from tui.lab.bench.predict_command import predict
from tui.lab.bench.prompts_command import prompts, sweep


@click.group()
def bench() -> None:
    """Measure what speculation is worth with your pair, on your machine.

    Systems answer the same prompts together, a few tokens each in turn, so that the moods of a busy
    machine cancel; each has contexts of its own, which take memory. What is measured is kept at
    once: Ctrl-C stops, and the same command with --run FILE goes on.
    """


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


for command in (prompts, sweep, paper, compare, predict):
    bench.add_command(command)
