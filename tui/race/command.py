"""`specchat race`: the same prompt in lanes side by side."""

import sys
from pathlib import Path
from typing import Any

import click

from models.errors import UsageError
from tui.shell.options import formed, settings, shared


@click.command()
@click.argument("prompt", required=False)
@click.option(
    "--lanes",
    "spec",
    metavar="SPEC",
    default="ars,sps",
    show_default=True,
    help="2 to 4 of [TARGET:]MODE[=K], separated by commas. TARGET is a model, or a quantisation "
    "of the target that is on this machine, as in f16:ars,q4:ars,q4:sps.",
)
@formed
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, and show nothing.")
@shared
def race(
    prompt: str | None,
    spec: str,
    schema: Path | None,
    regex: str | None,
    grammar: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Answer PROMPT in several lanes and compare their speed.

    The lanes take turns, so each computes for the same time. On a terminal the race is shown live,
    then replayed at true speed; elsewhere the scoreboard is printed.
    """
    if prompt is None or not prompt.strip():
        raise UsageError("There is no prompt. Try: specchat race 'Write a haiku about rivers'")
    chosen = settings(options)

    from tui.race.lanes import parse
    from tui.race.run_headless import find, run
    from tui.shell.asked import form_of

    entries, form = parse(spec), form_of(schema, regex, grammar)
    if as_json or not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        sys.exit(run(find(entries, chosen, prompt, form), as_json))

    from tui.race.app import RaceApp

    app = RaceApp(find(entries, chosen, prompt, form), chosen)
    app.run()
    sys.exit(app.return_code)
