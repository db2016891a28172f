"""The options that commands share, and the settings made from them."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click
from click.shell_completion import CompletionItem

from assistant.settings.keys import Key, Value, display
from assistant.settings.settings import KEYS, Settings
from models.errors import SpecchatError
from tui.safe import safe

FILE = click.Path(path_type=Path)
LAST, NEW = "last", "new"
"""Conversations to continue, besides a number."""
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
Command = TypeVar("Command", bound=Callable[..., Any])


def has_terminal() -> bool:
    """Return whether there is a terminal that can show a screen."""
    draws = os.environ.get("TERM", "") not in ("", "dumb", "unknown")
    return draws and are_terminals(sys.stdin, sys.stdout, sys.stderr)


def can_ask() -> bool:
    """Return whether the user can be asked on a terminal."""
    return are_terminals(sys.stdin, sys.stderr)


def are_terminals(*streams: TextIO | None) -> bool:
    """Return whether all streams are open, and each is a terminal."""
    return all(stream is not None and stream.isatty() for stream in streams)


class SettingParameter(click.ParamType[Value]):
    """A value of a settings key."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.name = key.hint

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Value:
        """Return the value of a key from its text."""
        checked = self.key.parse(value) if isinstance(value, str) else self.key.check(value)
        if checked is None:
            self.fail(self.key.rejection(value), param, ctx)
        return checked

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the allowed words, or models."""
        words = dict.fromkeys(filter(None, (self.key.word, *self.key.words)))
        if self.key.name in ("target", "draft"):
            others = ["none"] if self.key.name == "draft" else []
            return offer_models(ctx, param, incomplete, *words, *others)
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]


class NumberParameter(click.IntRange):
    """A whole number in a range."""

    name = "whole number"


ALIASES = {"lookahead": ("-k",), "target": ("--model", "-m"), "system": ("-s",)}
"""Other names of options, as other programs have them."""

EQUIVALENTS = {
    "--n-predict": "--max-tokens", "--num-predict": "--max-tokens", "--length": "--max-tokens",
    "--max-length": "--max-tokens", "--context": "--ctx", "--context-size": "--ctx",
    "--ctx-size": "--ctx", "--num-ctx": "--ctx", "--n-ctx": "--ctx", "--ngl": "--gpu-layers",
    "--n-gpu-layers": "--gpu-layers", "--num-gpu": "--gpu-layers", "--num-thread": "--threads",
    "--draft-model": "--draft", "--model-draft": "--draft", "--draft-max": "--lookahead",
    "--repetition-penalty": "--repeat-penalty", "--system-prompt": "--system", "--attach": "--file",
    "--image": "--file", "--think": "--thinking", "--reasoning": "--thinking", "--format": "--json",
    "--json-schema": "--schema", "--gbnf": "--grammar", "--continue": "--chat", "--dir": "--about",
}  # fmt: skip
"""Options of other programs, and their equivalents here."""


def intended_option(error: click.NoSuchOption) -> str | None:
    """Return the option that an unknown one stands for, or begins; None if it is not known."""
    typed = error.option_name
    params = error.ctx.command.params if error.ctx else []
    names = [name for param in params for name in param.opts if name.startswith("--")]
    exact = [name for name in names if name == EQUIVALENTS.get(typed)]
    candidates = exact or [name for name in names if name.startswith(typed)]
    return candidates[0] if len(candidates) == 1 else None


def shared_options(command: Command) -> Command:
    """Add the shared options; the command takes them as keywords for `settings`."""
    for option in reversed([_option(key) for key in KEYS.values() if key.option]):
        command = option(command)
    return command


def constraint_options(command: Command) -> Command:
    """Add the options of the constraint; the command takes them for `constraint_of`."""
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
    """Return the settings in force; warnings about `config.toml` go to standard error.

    A `UsageError` says that a value is invalid, or that `config.toml` cannot be understood.
    """
    from assistant.settings.layers import load  # not needed by --help

    chosen = load(options).settings()
    for notice in chosen.warnings:
        click.echo(f"specchat: {safe(notice)}", err=True)
    return chosen


def offer_models(
    ctx: click.Context, param: click.Parameter, incomplete: str, *others: str
) -> list[CompletionItem]:
    """Complete names of the catalogue and of models on this machine, or a path."""
    from models import catalog  # needed by completion only
    from models.files.stores import stored_models

    if incomplete.startswith(("/", "./", "../", "~")):
        return [CompletionItem(incomplete, type="file")]  # the shell completes files
    words = [*others, *catalog.FILES]
    with suppress(SpecchatError, OSError):
        words += [model.reference for model in stored_models()]
    return [CompletionItem(word) for word in dict.fromkeys(words) if word.startswith(incomplete)]


def _option(key: Key) -> Callable[[Command], Command]:
    if key.kind is bool:
        opposite = "--online" if key.name == "offline" else f"--no-{key.flag[2:]}"
        names = [key.name, f"{key.flag}/{opposite}"]
        return click.option(*names, default=None, help=f"{key.help}  [{display(key.default)}]")
    names = [key.name, key.flag, *ALIASES.get(key.name, ())]
    default = f"  [{display(key.default)}]" if display(key.default) else ""
    return click.option(
        *names, type=SettingParameter(key), metavar=key.hint, help=f"{key.help}{default}"
    )
