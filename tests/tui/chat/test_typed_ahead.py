"""Letters that are typed right after a key go to the input that the key opens."""

import pytest
from textual.app import App
from textual.command import CommandList
from textual.widgets import Input

from tests.tui.chat.chat_driver import Pair, open_chat
from tui.chat.dialogs import ToolsScreen
from tui.widgets.entry_screen import EntryScreen

OPENING = "f2,f5,ctrl+o,f5 ctrl+o,f6 down down down enter,f7,f9,f9 ctrl+o,ctrl+p"


@pytest.mark.parametrize("keys", OPENING.split(","))
async def test_letters_typed_at_once_go_to_what_a_key_opens(keys: str, pair: Pair) -> None:
    async with open_chat(*pair, asked=("One",)) as chat:
        await chat.press(*"Dear ")
        chat.at_once(*keys.split(), *"lamp")
        await chat.pilot.pause()
        screen, typed = chat.app.screen, chat.prompt.text
        if isinstance(screen, ToolsScreen):
            typed += screen._filter
        elif isinstance(screen, EntryScreen):
            typed += screen.input.text
        elif isinstance(screen.focused, Input):
            typed += screen.focused.value
        assert typed == ("Dear @lamp" if keys == "f7" else "Dear lamp")
        assert (chat.prompt.text == "Dear ") == (keys != "f7")


async def test_a_title_is_typed_at_once_and_a_slash_within_a_text_is_a_slash(pair: Pair) -> None:
    async with open_chat(*pair, asked=("One",)) as chat:
        await chat.press(*"1/2")
        assert chat.prompt.text == "1/2"
        await chat.press("f2")
        await chat.until(lambda: chat.screen.chats.rows.chosen)
        chat.at_once("ctrl+r", *"lamp", "enter")
        await chat.until(lambda: chat.store.summaries()[0].title == "lamp")


def first_command(app: App[None]) -> str:
    """Return the command that Enter runs in the palette; empty if there is none."""
    lists = app.screen.query(CommandList)
    return next((str(option.prompt) for found in lists for option in found.options), "")


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("help", "Help"), ("exit", "Quit"), ("quit", "Quit"), ("clear", "New"), ("new", "New"),
        ("models", "Models"), ("resume", "Chats"), ("config", "Settings"), ("retry", "Another"),
        ("mode", "Guesses"), ("tools", "Tools"), ("mcp", "Tools"), ("attach", "Attachments"),
    ],
)  # fmt: skip
async def test_a_slash_in_an_empty_prompt_finds_commands_by_their_usual_names(
    pair: Pair, typed: str, title: str
) -> None:
    async with open_chat(*pair, asked=("One",)) as chat:
        chat.at_once("/", *typed)
        await chat.until(lambda: first_command(chat.app).startswith(title))
        assert chat.prompt.text == ""
