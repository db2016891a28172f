"""The options that every way of asking shares, and the settings they make."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from assistant.settings.keys import Key, Value, shown
from assistant.settings.settings import KEYS, Settings
from models.errors import SpecchatError
from tui.safe import safe

FILE = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_PATHS = ("/", "./", "../", "~")
"""How the path of a file begins."""
Command = TypeVar("Command", bound=Callable[..., Any])


def has_terminal() -> bool:
    """Return whether there is a terminal on which a screen can be drawn."""
    streams = sys.stdin, sys.stdout, sys.stderr
    draws = os.environ.get("TERM", "") not in ("", "dumb", "unknown")
    return draws and all(stream is not None and stream.isatty() for stream in streams)


def can_ask() -> bool:
    """Return whether there is a terminal on which the user can be asked."""
    return all(stream and stream.isatty() for stream in (sys.stdin, sys.stderr))


class SettingParameter(click.ParamType[Value]):
    """A value of one key."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.name = key.hint

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Value:
        """Return the value; words such as `auto` stand for themselves."""
        found = self.key.parse(value) if isinstance(value, str) else self.key.check(value)
        if found is None:
            self.fail(self.key.rejection(value), param, ctx)
        return found

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the words that are allowed, or models."""
        words = self.key.offers
        if self.key.name in ("target", "draft"):
            return _models(incomplete, *words, *(["none"] if self.key.name == "draft" else []))
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]


class ModelParameter(click.ParamType[str]):
    """The name of a model."""

    name = "model"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the existing ones."""
        return _models(incomplete)


class NumberParameter(click.IntRange):
    """A whole number in a range, described as such."""

    name = "whole number"


def shared(command: Command) -> Command:
    """Add the shared options to a command; it takes them as keywords for `settings`."""
    for option in reversed([_option(key) for key in KEYS.values() if key.option]):
        command = option(command)
    return command


def formed(command: Command) -> Command:
    """Add the options for the form of an answer; it takes them as keywords for `constraint_of`."""
    for option in (
        click.option("--grammar", type=FILE, help="Answer by a grammar, in GBNF or Lark syntax."),
        click.option("--regex", metavar="PATTERN", help="Answer with text that matches a pattern."),
        click.option(
            "--schema",
            type=FILE,
            help="Answer with JSON that matches a JSON Schema, from a file or - for standard "
            "input.",
        ),
    ):
        command = option(command)
    return command


def settings(options: dict[str, Any]) -> Settings:
    """Return the settings in force; what is odd in `config.toml` goes to standard error.

    Raises:
        UsageError: a value is invalid, or `config.toml` cannot be understood.
    """
    from assistant.settings.layers import load  # which --help does without

    chosen = load(options).settings()
    for notice in chosen.warnings:
        click.echo(f"specchat: {safe(notice)}", err=True)
    return chosen


def _models(incomplete: str, *others: str) -> list[CompletionItem]:
    """Return the models of the catalogue and those that some program has here; or a file."""
    from models import catalog  # which only a shell's Tab needs
    from models.files.stores import stored

    if incomplete.startswith(_PATHS):
        return [CompletionItem(incomplete, type="file")]  # a shell knows files better
    words = [*others, *catalog.FILES]
    with suppress(SpecchatError, OSError):
        words += [model.reference for model in stored()]
    return [CompletionItem(word) for word in dict.fromkeys(words) if word.startswith(incomplete)]


def _option(key: Key) -> Callable[[Command], Command]:
    if key.kind is bool:
        opposite = "--online" if key.name == "offline" else f"--no-{key.flag[2:]}"
        names = [key.name, f"{key.flag}/{opposite}"]
        return click.option(*names, default=None, help=f"{key.help}  [{shown(key.default)}]")
    names = [key.name, key.flag, *(["-k"] if key.name == "lookahead" else [])]
    default = f"  [{shown(key.default)}]" if shown(key.default) else ""
    return click.option(
        *names, type=SettingParameter(key), metavar=key.hint, help=f"{key.help}{default}"
    )
