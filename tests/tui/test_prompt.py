"""The prompt, by its keys."""

from pathlib import Path

import pytest

from tests.tui.chat import open_chat
from tui.widgets.turns import SHOWN, UserTurn


@pytest.mark.parametrize("key", ["ctrl+j", "alt+enter", "shift+enter"])
async def test_new_line_keys_do_not_send(target: Path, key: str) -> None:
    async with open_chat(target) as chat:
        await chat.pilot.press("a", key, "b")
        assert chat.prompt.text == "a\nb"
        assert chat.shown(".user") == []


async def test_blank_prompts_are_not_sent(target: Path) -> None:
    async with open_chat(target) as chat:
        await chat.pilot.press("space", "enter", "ctrl+j", "enter")
        assert chat.shown(".user") == []


async def test_arrows_recall_earlier_prompts_and_keep_what_is_being_typed(target: Path) -> None:
    async with open_chat(target) as chat:
        await chat.ask("first")
        await chat.ask("second")
        await chat.pilot.press("up")
        assert chat.prompt.text == "second"
        await chat.pilot.press("up")
        assert chat.prompt.text == "first"
        await chat.pilot.press("up", "down")
        assert chat.prompt.text == "second"
        await chat.pilot.press("down")
        assert chat.prompt.text == ""
        chat.prompt.text = "unsent"
        await chat.pilot.press("up")
        assert chat.prompt.text == "unsent"


async def test_book_is_pasted_whole_and_shown_short(target: Path) -> None:
    book = "All work and no play. " * 50_000
    async with open_chat(target) as chat:
        turn = UserTurn(book)
        assert len(str(turn.content)) < SHOWN + 100
        assert turn.text == book
        assert "characters not shown" in str(turn.content)
        await chat.send(book)
        await chat.until(lambda: chat.prompt.text == book)  # too long, so it comes back
