"""`specchat prove`: losslessness, checked on the person's own machine and pair."""

import json
import sys
from typing import Any

import click

from tui.safe import safe
from tui.shell.options import settings, shared


@click.command()
@click.option("--thorough", is_flag=True, help="Take more of everything, and some minutes.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@shared
def prove(thorough: bool, as_json: bool, **options: Any) -> None:
    """Check on this machine that speculation changes nothing but the speed.

    The shipped rules are enumerated on a small example, where mistakes in them have to be found;
    and what your pair says with and without speculation is compared: as it is shipped, too, with
    every source and the controller, for several answers at once, and from a snapshot on disk. It
    takes a minute or two. The exit code is 1 if a law is broken.
    """
    chosen = settings(options)

    from tui.lab.prove.report import lines, report
    from tui.lab.prove.watch import watch

    outcome = watch(chosen, thorough)
    if as_json:
        click.echo(json.dumps(report(outcome)))
    else:
        click.echo("\n".join(map(safe, lines(outcome))))
    if outcome.error is not None:
        raise outcome.error
    sys.exit(outcome.exit_code)
