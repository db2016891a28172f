"""The options that the measuring commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tui.shell import options as usual

if TYPE_CHECKING:
    from tui.settings.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])
FILE = click.Path(path_type=Path, dir_okay=False)

html = click.option("--html", "html_file", type=FILE, help="Write an HTML report, with plots.")
json = click.option("--json", "json_file", type=FILE, help="Write all figures as JSON.")
run = click.option(
    "--run",
    "run_path",
    type=FILE,
    help="Keep results in this file, and continue from those already in it.",
)
per_kind = click.option(
    "--per-kind", type=usual.NumberParameter(1), metavar="N", help="Ask N of each kind only."
)
repeats = click.option(
    "--repeats", type=usual.NumberParameter(1, 100), default=1, help="Ask everything N times."
)


def output(command: Command) -> Command:
    """Add the options that say where results go."""
    return run(json(html(command)))


def settings(context: click.Context, options: dict[str, Any]) -> "Settings":
    """Return the settings, also those that were given in front of the command."""
    from tui.shell.cli import given_before_the_command

    typed = {name: value for name, value in options.items() if value is not None}
    return usual.settings({**given_before_the_command(context.find_root()), **typed})
