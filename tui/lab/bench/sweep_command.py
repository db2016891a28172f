"""`specchat bench sweep`: lookaheads, one after the other."""

from pathlib import Path
from typing import Any

import click

from tui.lab.bench.options import FILE, output, per_kind, repeats, settings
from tui.lab.bench.run_file import measured
from tui.shell.options import shared


@click.command()
@click.argument("file", required=False, type=FILE)
@click.option(
    "--lookaheads",
    metavar="LIST",
    default="1,2,3,4,5,6,8",
    show_default=True,
    help="The lookaheads that are tried, besides ArS.",
)
@per_kind
@repeats
@output
@shared
@click.pass_context
def sweep(
    context: click.Context,
    /,
    file: Path | None,
    lookaheads: str,
    per_kind: int | None,
    repeats: int,
    run_path: Path | None,
    json_file: Path | None,
    html_file: Path | None,
    **options: Any,
) -> None:
    """Try lookaheads: time for 128 tokens, tokens per round, time of a round.

    That is figure 1 of Chen et al. 2023, for a code and a summarisation task, or for the prompts in
    FILE. Proposals are the draft model's; --source names another source.
    """
    chosen = settings(context, options)

    from assistant.lab.bench import sweep_report as reporting
    from assistant.lab.bench import systems
    from assistant.lab.bench.questions import first_of_each, read, shipped
    from tui.lab.bench.lineup import answers, line_up
    from tui.lab.bench.output import brief, check_writable, show

    ways = systems.sweep((chosen.source or "model").replace(",", "+"), lookaheads)
    usual = [each for each in shipped("tasks") if each.kind in ("code", "summary")]
    asked = read(file) if file else usual
    questions = first_of_each(asked, per_kind)
    check_writable(json_file, html_file)
    lineup = line_up(ways, chosen)
    facts = lineup.facts("sweep", questions, repeats=repeats)
    found = measured(run_path, facts, answers(lineup, questions, repeats, predict=False))
    report, steps = reporting.report(found, ways)
    show(report, facts, {"steps": steps, "answers": brief(found)}, json_file, html_file)
