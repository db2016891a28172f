"""What a person may have meant by a command that there is not."""

from difflib import get_close_matches

import click

ELSEWHERE = {
    "run": "specchat --target MODEL",
    "chat": "specchat",
    "ls": "specchat models list",
    "get": "specchat models pull",
    "download": "specchat models pull",
    "help": "specchat --help",
    "version": "specchat --version",
    "settings": "specchat config",
    "completion": "_SPECCHAT_COMPLETE=bash_source specchat",
}
"""What other programs call things."""


def meant(name: str, context: click.Context) -> str | None:
    """Return the command that comes closest to a name, as it is typed."""
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    known = _commands(context.command, context)
    alike = [path for path in known if path.split()[-1] == name]  # "pull" is "models pull"
    near = alike or get_close_matches(name, known, n=1)
    return f"specchat {near[0]}" if near else None


def _commands(group: click.Command, context: click.Context, above: str = "") -> list[str]:
    """Return the commands below a group, each with the words in front of it."""
    found: list[str] = []
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            below = group.get_command(context, name)
            found.append(above + name)
            found += _commands(below, context, f"{above}{name} ") if below else []
    return found
