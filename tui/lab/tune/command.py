"""`specchat tune`: what evaluations cost here, and what that means for speculation."""

import json
from dataclasses import asdict
from typing import Any

import click

from tui.safe import safe
from tui.shell.options import settings, shared


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@shared
def tune(as_json: bool, **options: Any) -> None:
    """Measure what evaluations cost on this machine, and when speculation pays.

    Settings that make them cheaper are used from then on, unless you set them yourself. It takes a
    minute or a few; let nothing else run meanwhile.
    """
    chosen = settings(options)

    from tui.lab.tune.measure import measure
    from tui.lab.tune.report import lines

    tuned = measure(chosen)
    if as_json:
        click.echo(json.dumps(asdict(tuned), default=str))
    else:
        click.echo("\n".join(map(safe, lines(tuned))))
