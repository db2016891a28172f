"""Completions for a shell, and suggestions for a mistyped command."""

from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches

import click
from click.shell_completion import CompletionItem

from assistant.settings.keys import Key
from models import catalog
from models.errors import SpecchatError
from models.files.stores import stored

_PATHS = ("/", "./", "../", "~")
"""How the path of a file begins."""
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
"""Other programs' names for commands."""


def values(key: Key, incomplete: str) -> list[CompletionItem]:
    """Return completions of a key's value."""
    if key.name in ("target", "draft"):
        words = [*key.offers, *(["none"] if key.name == "draft" else [])]
        return models(incomplete, words)
    return [CompletionItem(word) for word in key.offers if word.startswith(incomplete)]


def models(incomplete: str, others: Iterable[str] = ()) -> list[CompletionItem]:
    """Return the models of the catalogue and those that some program has here; or a file."""
    if incomplete.startswith(_PATHS):
        return [CompletionItem(incomplete, type="file")]  # a shell knows files better
    words = [*others, *catalog.FILES]
    with suppress(SpecchatError, OSError):
        words += [model.reference for model in stored()]
    return [CompletionItem(word) for word in dict.fromkeys(words) if word.startswith(incomplete)]


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
