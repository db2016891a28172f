"""The user's editor, and `config.toml` in it."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import click

from assistant.settings.template import template
from models.files.disk import private_folder
from tui.app.signals import signal_handlers

_GOTO = {"code": ("--goto",), "codium": ("--goto",), "cursor": ("--goto",), "subl": (), "zed": ()}
"""Arguments of editors that take FILE:LINE; all others take +LINE FILE."""


def write_template(path: Path) -> str:
    """Write the template unless there is a file; return an error message, usually empty."""
    try:
        private_folder(path.parent)
        with suppress(FileExistsError), path.open("x", encoding="utf-8") as file:
            file.write(template())
    except OSError as error:
        return f"{path} cannot be edited: {error.strerror}."
    return ""


def edit_file(path: Path, line: int = 0) -> str:
    """Open a file in the user's editor at a line, from 1; return an error message, usually empty.

    Until it ends, the editor has the terminal and receives Ctrl+C.
    """
    keys = signal.SIGINT, signal.SIGQUIT
    try:
        # The editor would inherit an ignored signal, but not a handler.
        with signal_handlers(dict.fromkeys(keys, lambda number, frame: None)):
            click.edit(filename=_editor_arguments(path, line) if line else str(path))
    except (click.ClickException, ValueError) as error:  # EDITOR has an unclosed quotation mark
        return f"{error}. Set EDITOR to a program that edits files."
    return ""


def _editor_arguments(path: Path, line: int) -> list[str]:
    """Return the arguments that open a file at a line."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    name = Path(*editor.split()[:1]).stem
    return [*_GOTO[name], f"{path}:{line}"] if name in _GOTO else [f"+{line}", str(path)]
