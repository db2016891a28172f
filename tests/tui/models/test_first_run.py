"""The first start on a machine without a model, and the choice of one."""

from pathlib import Path

import pytest

from assistant.settings.config_file import config_path
from assistant.settings.layers import load, state_path
from assistant.settings.settings import SettingSource
from models import machine
from models.machine import MemoryBytes
from models.progress import Progress
from tests import tiny
from tests.tui.chat.chat_driver import Chat, open_chat
from tui.models.downloads import figures
from tui.models.model_list import FIRST
from tui.models.screen import ModelsScreen


async def chooser(chat: Chat) -> ModelsScreen:
    await chat.until(lambda: isinstance(chat.app.screen, ModelsScreen))
    screen = chat.app.screen
    assert isinstance(screen, ModelsScreen)
    await chat.until(lambda: (shown := lines(screen)) and "looking" not in shown[0])
    return screen


def lines(screen: ModelsScreen) -> list[str]:
    return [str(option.prompt) for option in screen.list.options]


@pytest.fixture
def mine(bare_machine: Path) -> Path:
    """The only model of a machine."""
    return tiny.write(bare_machine / "models" / "mine.gguf", stops=False)


async def test_without_a_model_the_default_pair_is_offered_not_fetched(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(None) as chat:
        screen = await chooser(chat)
        assert screen.query("#welcome")
        await chat.until(lambda: "1.61 GB" in str(screen.details.render()))
        details = str(screen.details.render())
        assert "with qwen2.5-coder-0.5b" in details
        assert "2 min at 100 Mbit/s" in details
        assert str(bare_machine / "hub")[:10] in details
        width, height = screen.details.content_size
        assert [len(line) <= width for line in details.splitlines()] == [True] * height
        monkeypatch.setattr(screen.downloads, "start", lambda files, then_use: "")
        await chat.pilot.press("ctrl+f")
        await chat.until(lambda: not screen.query("#welcome"))
        await chat.pilot.press("escape")
        assert not (bare_machine / "hub").exists()
        assert not (bare_machine / "models").exists()


@pytest.mark.parametrize(("gigabytes", "larger"), [(24, True), (8, False)])
async def test_a_machine_with_memory_is_offered_two_models(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch, gigabytes: int, larger: bool
) -> None:
    memory = MemoryBytes(total=gigabytes * 10**9, free=4 * 10**9)
    monkeypatch.setattr(machine, "memory", lambda: memory)
    async with open_chat(None) as chat:
        screen = await chooser(chat)
        shown = lines(screen)
        assert (FIRST in shown) == larger
        assert screen.list.current is not None
        assert screen.list.current.model.name == "qwen2.5-coder-1.5b"
        if larger:
            (small, large) = shown[1:3]
            assert "qwen2.5-coder-1.5b" in small
            assert "small and fast" in small
            assert "qwen2.5-coder-7b" in large
            assert "better, 4 × slower" in large


async def test_a_prompt_without_a_model_asks_again_waits_and_is_answered(mine: Path) -> None:
    async with open_chat(None) as chat:
        await chooser(chat)
        await chat.pilot.press("escape")
        await chat.send("Anybody there?")
        await chooser(chat)
        await chat.pilot.press("escape")
        assert chat.prompt.text == "Anybody there?"
        await chat.pilot.press("enter")
        await choose(chat)  # the model on disk is offered first
        await chat.until(lambda: len(chat.texts) == 2)


async def choose(chat: Chat) -> None:
    """Take the first model that is offered."""
    screen = await chooser(chat)
    await chat.until(lambda: "mine.gguf" in str(screen.details.render()))
    await chat.pilot.press("enter")
    await chat.until(lambda: str(chat.app.settings.target).endswith("mine.gguf"))


async def test_the_next_start_begins_with_the_model_that_was_chosen(mine: Path) -> None:
    async with open_chat(None) as chat:
        await chooser(chat)
        await chat.press("escape", "ctrl+t", "f5")
        await choose(chat)
        assert chat.app.settings.mode == "ars"  # as before: nothing else changes
        assert str(chat.app.layers.in_force["target"][1]) == "state.json"
    assert load({}).settings().target == str(mine)
    assert load({}).settings().setup()[0].target == mine
    assert not config_path().exists()


async def test_a_choice_in_a_run_that_was_told_its_target_is_for_that_run(mine: Path) -> None:
    given = {"target": SettingSource("option", "--target")}
    async with open_chat(Path("nowhere.gguf"), sources=given) as chat:
        await choose(chat)
    assert not state_path().exists()


def test_figures_tell_amount_speed_and_time_left() -> None:
    text = figures(Progress(400_000_000, 1_600_000_000, "hub"), 12_000_000)
    assert text == "hub · 400 MB of 1.60 GB · 12 MB/s · 2 min left"
