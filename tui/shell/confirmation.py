"""Yes or no, asked on the terminal."""

import click

from models.errors import UsageError


def confirmed(question: str, unanswered: str, default: bool = False) -> bool:
    """Ask on the terminal; a closed standard input cannot answer.

    Raises:
        UsageError: nobody answered; `unanswered` says what that means.
    """
    try:
        return click.confirm(question, default, err=True)
    except click.Abort as abort:
        click.echo(err=True)
        if isinstance(abort.__context__, EOFError):
            raise UsageError(f"Nobody answered. {unanswered}") from abort
        raise
