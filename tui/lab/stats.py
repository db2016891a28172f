"""`specchat stats`: what speculation did for one's own conversations."""

import json

import click

from tui.safe import safe
from tui.shell.chats_command import as_json_option, opened


@click.command()
@as_json_option
def stats(as_json: bool) -> None:
    """Show how speculation went over your stored answers.

    Acceptance is accepted over tested proposals; tokens per evaluation is what a target evaluation
    yielded; the speed-up compares with your own answers of the same model at about the same depth
    in which nothing was proposed, and is left open where there are none.

    What an answer is, its lines tell: code, when at least half of them stand between fences (```);
    mixed, when some do; a list, when at least half are items or rows of a table; else prose.
    """
    from assistant.lab.stats.history import look_back
    from tui.lab.stats_report import lines, report

    with opened() as store:
        history = look_back(store.answers())
    if as_json:
        click.echo(json.dumps(report(history)))
    elif not history.whole.answers:
        click.echo("There are no stored answers to look back at.", err=True)
    else:
        click.echo("\n".join(map(safe, lines(history))))
