"""`specchat serve`: answer other programs on this machine, as OpenAI's endpoint would."""

import sys
from pathlib import Path
from typing import Any

import click

from tui.shell.options import NumberParameter, settings, shared

PORT = 8471


@click.command()
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address of this machine to use."
)
@click.option(
    "--port",
    type=NumberParameter(0, 65535),
    default=PORT,
    show_default=True,
    help="0 takes one that is free.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Answer only who knows the token in this file; SPECCHAT_TOKEN names one, too.",
)
@shared
def serve(host: str, port: int, token_file: Path | None, **options: Any) -> None:
    """Serve OpenAI's chat completions to other programs on this machine.

    Give them the address that is printed, http://127.0.0.1:8471/v1, as the base URL. Requests wait
    for one another, and who hangs up stops their answer. Nothing is kept, and no connection is
    opened to anywhere. On an address that others can reach, a token is demanded, and made if there
    is none. Ctrl-C ends it.
    """
    chosen = settings(options)

    from tui.shell.serve import run

    sys.exit(run(chosen, host, port, token_file))
