"""Letters that are typed right after a key go to the input that the key opens."""

import pytest
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


async def test_a_title_is_typed_at_once(pair: Pair) -> None:
    async with open_chat(*pair, asked=("One",)) as chat:
        await chat.press("f2")
        await chat.until(lambda: chat.screen.chats.rows.chosen)
        chat.at_once("ctrl+r", *"lamp", "enter")
        await chat.until(lambda: chat.store.summaries()[0].title == "lamp")
