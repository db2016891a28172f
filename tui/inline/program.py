"""The program of `specchat --inline`: the chat, its commands and its prompt."""

import asyncio
from contextlib import closing, suppress
from pathlib import Path

from assistant.settings.settings import Settings
from assistant.store.files import database_path
from assistant.store.store import Store
from tui.inline.chat import InlineChat
from tui.inline.commands import SlashCommands
from tui.inline.plain_terminal import PlainTerminal
from tui.inline.terminal import InlineTerminal
from tui.shell.options import has_terminal
from tui.shell.standard_output import announce


def run(settings: Settings) -> int:
    """Chat in the terminal's scrollback; return the exit code."""
    with closing(Store(database_path() if settings.save else None, announce)) as store:
        chat = InlineChat(settings, store)
        commands = SlashCommands(chat)
        if not has_terminal():
            return asyncio.run(chat.run(PlainTerminal(chat, commands.enter)))
        return asyncio.run(chat.run(InlineTerminal(chat, commands, is_vi(settings))))


def is_vi(settings: Settings) -> bool:
    """Return whether lines are edited with vi's keys, by the settings or else by ~/.inputrc."""
    if settings.editing != "auto":
        return settings.editing == "vi"
    with suppress(OSError):
        lines = (Path.home() / ".inputrc").read_text(errors="replace").splitlines()
        return any(line.split() == ["set", "editing-mode", "vi"] for line in lines)
    return False
