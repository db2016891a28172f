"""`specchat bench paper`: the papers' tables and figures."""

import shlex
from pathlib import Path
from typing import Any

import click

from tui.lab.bench.options import FILE, output, per_kind, settings
from tui.shell.options import shared


def split(context: click.Context, parameter: click.Parameter, value: str | None) -> list[str]:
    """Return the words of a command as a shell would read them; none if it is not given."""
    try:
        words = shlex.split(value or "")
    except ValueError as error:
        raise click.BadParameter(f"{value!r} has {str(error).lower()}.") from error
    if value is not None and not words:
        raise click.BadParameter("it is empty; name a command.")
    return words


@click.command()
@click.option("--code", "code_file", type=FILE, help="Problems in HumanEval's format.")
@click.option("--summaries", "summaries_file", type=FILE, help="Texts in Spec-Bench's format.")
@click.option(
    "--files",
    "labels",
    metavar="LIST",
    help="Other quantisations or files of the target to compare with, as in f16,q8_0; none.  "
    "[f16, bf16 and mxfp4 where they are here]",
)
@per_kind
@click.option(
    "--runner",
    metavar="COMMAND",
    callback=split,
    help="Run the answers' code with this: a command that runs the Python program on its standard "
    "input, such as 'podman run --rm -i --network none python:3 python -'.  [code is not run]",
)
@output
@shared
@click.pass_context
def paper(
    context: click.Context,
    /,
    code_file: Path | None,
    summaries_file: Path | None,
    labels: str | None,
    per_kind: int | None,
    runner: list[str],
    run_path: Path | None,
    json_file: Path | None,
    html_file: Path | None,
    **options: Any,
) -> None:
    """Measure the tables and figures of the papers again, with your pair on your machine.

    Chen et al. 2023: scores and speed, the lookahead sweep. Leviathan et al. 2023: acceptance rates
    of drafts, speed by lookahead against the formulas. Qualcomm: quantisation, speculation, both.
    And how near to memory's bandwidth it comes. Takes tens of minutes; --per-kind makes it shorter.
    Answers that are code are run by --runner alone, and without it their texts are compared. The
    samplings are the papers', not those of the settings.
    """
    chosen = settings(context, options)

    from assistant.lab.bench.questions import read
    from tui.lab.bench.output import check_writable, show
    from tui.lab.bench.paper import Paper
    from tui.lab.bench.running import run_file

    files = None if labels is None else [each for each in labels.split(",") if each != "none"]
    code = read(code_file) if code_file else []
    texts = read(summaries_file) if summaries_file else []
    summaries = [each for each in texts if each.reference] or texts
    check_writable(json_file, html_file)
    whole = Paper(chosen, code, summaries, files, per_kind, runner)
    facts = whole.facts()
    with run_file(run_path, facts) as run:
        report, figures = whole.run(run)
    show(report, facts, figures, json_file, html_file)
