"""What a person meets on a machine without a model, and how the first one is chosen."""

import shutil
from pathlib import Path

from models.files.progress import Progress
from tests.tui.chat import Chat, open_chat
from tui.screens.models import ModelsScreen
from tui.widgets.models.fetch import Pace, figures


async def chooser(chat: Chat) -> ModelsScreen:
    await chat.until(lambda: isinstance(chat.app.screen, ModelsScreen))
    screen = chat.app.screen
    assert isinstance(screen, ModelsScreen)
    await chat.until(lambda: "looking" not in lines(screen)[0])
    return screen


def lines(screen: ModelsScreen) -> list[str]:
    return [str(option.prompt) for option in screen.browser.list.options]


async def test_without_a_model_the_default_pair_is_offered_and_nothing_fetched(
    bare_machine: Path,
) -> None:
    async with open_chat(None) as chat:
        screen = await chooser(chat)
        await chat.until(lambda: "1.61 GB" in str(screen.browser.details.render()))
        details = str(screen.browser.details.render())
        assert "with its draft qwen2.5-coder-0.5b" in details
        assert "2 min at 100 Mbit/s" in details
        assert str(bare_machine / "hub")[:10] in details
        await chat.pilot.press("escape")
        assert not (bare_machine / "hub").exists()
        assert not (bare_machine / "models").exists()


async def test_prompt_without_a_model_asks_again_and_is_not_lost(bare_machine: Path) -> None:
    async with open_chat(None) as chat:
        await chooser(chat)
        await chat.pilot.press("escape")
        await chat.send("Anybody there?")
        await chooser(chat)
        await chat.pilot.press("escape")
        assert chat.prompt.text == "Anybody there?"


async def test_model_on_disk_is_offered_first_and_answers_the_prompt_that_waits(
    bare_machine: Path, target: Path
) -> None:
    (bare_machine / "models").mkdir()
    shutil.copy(target, bare_machine / "models" / "mine.gguf")
    async with open_chat(None) as chat:
        await chooser(chat)
        await chat.pilot.press("escape")
        await chat.send("Anybody there?")
        screen = await chooser(chat)
        await chat.until(lambda: "mine.gguf" in str(screen.browser.details.render()))
        await chat.pilot.press("enter")
        await chat.until(lambda: len(chat.said) == 2)


def test_figures_tell_amount_speed_and_time_left() -> None:
    text = figures(Progress(400_000_000, 1_600_000_000, "hub"), 12_000_000)
    assert text == "hub · 400 MB of 1.60 GB · 12 MB/s · 2 min left"


def test_speed_is_that_of_the_last_seconds() -> None:
    pace = Pace()
    assert pace.speed == 0
    for second, done in ((0, 0), (10, 10), (20, 1010), (30, 2010)):
        pace.add(done, second)
    assert pace.speed == 100
    pace.add(0, 31)  # the next file
    assert pace.speed == 0
