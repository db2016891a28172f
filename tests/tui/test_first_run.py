"""What a person meets on a machine without a model, and how a model is chosen."""

import shutil
from pathlib import Path

import pytest
from textual.widgets import OptionList

from models.files.progress import Progress
from tests.tui.chat import Chat, open_chat
from tui.screens.first_run import FirstRunScreen
from tui.widgets.fetch import Pace, figures


async def chooser(chat: Chat) -> FirstRunScreen:
    await chat.until(lambda: isinstance(chat.app.screen, FirstRunScreen))
    screen = chat.app.screen
    assert isinstance(screen, FirstRunScreen)
    return screen


def choices(screen: FirstRunScreen) -> list[str]:
    return [str(option.prompt) for option in screen.query_one(OptionList).options]


async def test_without_a_model_the_default_pair_is_offered_and_nothing_fetched(
    bare_machine: Path,
) -> None:
    async with open_chat(None) as chat:
        screen = await chooser(chat)
        assert "qwen2.5-coder-1.5b with the draft qwen2.5-coder-0.5b" in choices(screen)[0]
        assert "1.61 GB, 2 min at 100 Mbit/s, into " in choices(screen)[0]
        assert str(bare_machine / "hub") in choices(screen)[0]
        await chat.pilot.press("escape")
        assert chat.app.screen is chat.screen
        assert list(bare_machine.iterdir()) == []


async def test_prompt_without_a_model_asks_again_and_is_not_lost(bare_machine: Path) -> None:
    async with open_chat(None) as chat:
        await chooser(chat)
        await chat.pilot.press("escape")
        await chat.send("Anybody there?")
        await chooser(chat)
        await chat.pilot.press("escape")
        assert chat.prompt.text == "Anybody there?"


async def test_typed_path_opens_the_chat(bare_machine: Path, target: Path) -> None:
    async with open_chat(None) as chat:
        screen = await chooser(chat)
        await chat.pilot.press("up", "enter")
        screen.path.value = "/no/such.gguf"
        await chat.pilot.press("enter")
        assert "/no/such.gguf" in str(screen.message.render())
        screen.path.value = str(target)
        await chat.pilot.press("enter")
        await chat.ready()
        await chat.ask("Hello")
        assert len(chat.screen.dialogue.messages) == 2


async def test_model_on_disk_is_offered_and_answers_the_prompt_that_waits(
    bare_machine: Path, target: Path
) -> None:
    (bare_machine / "models").mkdir()
    shutil.copy(target, bare_machine / "models" / "mine.gguf")
    async with open_chat(None) as chat:
        await chooser(chat)
        await chat.pilot.press("escape")
        await chat.send("Anybody there?")
        screen = await chooser(chat)
        assert "mine.gguf" in choices(screen)[1]
        await chat.pilot.press("down", "enter")
        await chat.until(lambda: len(chat.screen.dialogue.messages) == 2)


async def test_download_that_fails_is_a_sentence_and_can_be_tried_again(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    async with open_chat(None) as chat:
        screen = await chooser(chat)
        for _ in range(2):
            screen.message.update("")
            await chat.pilot.press("enter")
            await chat.until(lambda: "HF_HUB_OFFLINE" in str(screen.message.render()))
            assert screen.choices.has_focus


async def test_offline_nothing_can_be_fetched(bare_machine: Path) -> None:
    async with open_chat(None, offline=True) as chat:
        screen = await chooser(chat)
        assert screen.choices.get_option("fetch").disabled
        assert "--offline" in choices(screen)[0]


def test_speed_is_that_of_the_last_seconds() -> None:
    pace = Pace()
    assert pace.speed == 0
    for second, done in ((0, 0), (10, 10), (20, 1010), (30, 2010)):
        pace.add(done, second)
    assert pace.speed == 100
    pace.add(0, 31)  # the next file
    assert pace.speed == 0


def test_figures_tell_amount_speed_and_time_left() -> None:
    text = figures(Progress(400_000_000, 1_600_000_000, "hub"), 12_000_000)
    assert text == "hub · 400 MB of 1.60 GB · 12 MB/s · 2 min left"
