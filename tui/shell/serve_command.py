"""`specchat serve`: an OpenAI-style endpoint for programs on this machine."""

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
    help="0 picks a free one.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Require the token in this file; SPECCHAT_TOKEN also sets one.",
)
@shared
def serve(host: str, port: int, token_file: Path | None, **options: Any) -> None:
    """Serve OpenAI's chat completions to other programs on this machine.

    Use the printed address, http://127.0.0.1:8471/v1, as the base URL. Requests queue up; hanging
    up stops an answer. Nothing is kept, and specchat connects to nothing. On an address that other
    machines can reach, a token is required, and generated if you set none. Ctrl-C ends it.
    """
    chosen = settings(options)

    from tui.shell.serve import run

    sys.exit(run(chosen, host, port, token_file))
