"""`specchat ask`: one question, one answer on standard output."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from models.errors import UsageError
from tui.attaching.attachments import decoded, joined, read
from tui.options import settings, shared


@click.command()
@click.argument("prompt", required=False)
@click.option(
    "--file",
    "-f",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Add a text file to the question.",
)
@click.option("--stop", "stop_strings", multiple=True, metavar="TEXT", help="End before this text.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with every token.")
@shared
def ask(
    prompt: str | None,
    files: tuple[Path, ...],
    stop_strings: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Get one answer.

    PROMPT, standard input and files are joined into one question. The answer goes to standard
    output, everything else to standard error. Ctrl-C stops it and keeps what was said.
    """
    chosen = settings(options)
    question = join(prompt, _piped(), files)

    from tui.asking import Asking
    from tui.report import report

    asking = Asking(chosen, question, stop_strings, quiet=as_json)
    outcome = asking.run()
    if as_json:
        click.echo(json.dumps(report(outcome, chosen)))
    if outcome.interrupted:
        sys.exit(130)


def _piped() -> bytes | None:
    """Return what was piped in; a closed standard input is an empty one."""
    if sys.stdin is None or sys.stdin.isatty():
        return None
    return sys.stdin.buffer.read()


def join(prompt: str | None, piped: bytes | None, files: tuple[Path, ...]) -> str:
    """Return the question that the prompt, standard input and files make together.

    Raises:
        UsageError: there is no question, or a part of it is no text.
    """
    words = [prompt or "", decoded(piped, "Standard input") if piped else ""]
    text = "\n\n".join(part for part in words if part.strip())
    question = joined(text, [read(path, pipes=True) for path in files])
    if not question:
        raise UsageError("There is no question. Try: specchat ask 'Why is the sky blue?'")
    return question
