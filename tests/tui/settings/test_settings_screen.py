"""The settings screen, by its keys, on a real config.toml."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from gguf import GGUFWriter
from textual.app import App
from textual.pilot import Pilot

from tests import tiny
from tests.tui.driver import Driver
from tui.settings.config_file import read
from tui.settings.keys import KEYS
from tui.settings.screen import SettingsScreen
from tui.settings.settings import Settings, load

MINE = """\
# mine
temperature = 1.5  # warm
mode = "sps"

[presets.code]
temperature = 0.2
system = "terse"
"""


class Open(Driver):
    """The settings screen under test."""

    def __init__(self, pilot: Pilot[None], screen: SettingsScreen) -> None:
        super().__init__(pilot)
        self.app, self.screen = pilot.app, screen
        self.results: list[Settings | None] = []

    async def go(self, name: str) -> None:
        self.screen.fields[name].control.focus()
        await self.pilot.pause()

    async def type(self, name: str, text: str) -> None:
        await self.go(name)
        await self.press("ctrl+a", "ctrl+k", *text)

    async def result(self) -> Settings | None:
        await self.until(lambda: self.results)
        return self.results[0]

    async def saved(self, *keys: str) -> Settings:
        """Press keys that save, and return what is chosen then."""
        await self.press(*keys)
        chosen = await self.result()
        assert chosen is not None
        return chosen

    def control(self, name: str) -> Any:
        return self.screen.fields[name].control

    def help(self, name: str) -> str:
        return str(self.screen.fields[name].help.render())


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPECCHAT_HOME", str(tmp_path))
    for key in KEYS.values():
        monkeypatch.delenv(key.environment, raising=False)
    (tmp_path / "config.toml").write_text(MINE)
    return tmp_path / "config.toml"


@asynccontextmanager
async def opened(
    size: tuple[int, int] = (80, 24), target: Path | None = None, **options
) -> AsyncIterator[Open]:
    app = App[None]()
    async with app.run_test(size=size) as pilot:
        screen = SettingsScreen(load(options), target)
        opened = Open(pilot, screen)
        app.push_screen(screen, opened.results.append)
        await pilot.pause()
        yield opened


async def test_every_key_has_a_field_with_a_line_of_help(path):
    async with opened((120, 50)) as page:
        assert set(page.screen.fields) == set(KEYS)
        assert all(page.help(name) == key.help for name, key in KEYS.items())


async def test_what_is_typed_is_saved_with_the_comments_and_returned(path):
    async with opened() as page:
        await page.type("temperature", "0.9")
        chosen = await page.saved("enter")
        assert chosen.sampling.temperature == 0.9
        assert chosen.mode == "sps"
        assert path.read_text() == MINE.replace("1.5", "0.9")


async def test_control_s_saves_from_any_field(path):
    async with opened() as page:
        await page.go("system")
        chosen = await page.saved(*"Hi", "enter", *"you", "ctrl+s")
        assert chosen.system == "Hi\nyou"
        assert read(path).values["system"] == "Hi\nyou"


async def test_escape_leaves_everything_as_it_was(path):
    async with opened() as page:
        theme = page.app.theme
        await page.type("temperature", "0.9")
        await page.go("theme")
        await page.press("right")
        assert page.app.theme != theme
        await page.press("escape")
        assert await page.result() is None
        assert (page.app.theme, path.read_text()) == (theme, MINE)


async def test_the_reason_is_shown_in_place_while_typing_and_nothing_is_saved(path):
    async with opened() as page:
        await page.type("top_p", "5")
        assert page.help("top_p") == "✗ top_p must be a number above 0 and at most 1: '5'"
        await page.go("mode")
        await page.press("ctrl+s")
        assert not page.results
        assert page.screen.focused is page.control("top_p")
        assert path.read_text() == MINE
        await page.press("backspace", *"0.5")
        assert page.help("top_p") == KEYS["top_p"].help
        chosen = await page.saved("enter")
        assert chosen.sampling.top_p == 0.5


async def test_arrows_go_from_field_to_field_through_all_of_them(path):
    async with opened() as page:
        seen = []
        for _ in KEYS:
            seen.append(page.screen.focused.parent.key.name)
            await page.press("down")
            if isinstance(page.screen.focused.parent, type(None)):
                break
        assert seen == list(KEYS)
        await page.press("up")
        assert page.screen.focused.parent.key.name == list(KEYS)[-1]


async def test_a_preset_fills_the_fields(path):
    async with opened() as page:
        await page.go("preset")
        await page.press("right")
        assert page.control("temperature").value == "0.2"
        assert page.control("system").text == "terse"
        chosen = await page.saved("ctrl+s")
        assert (chosen.preset, chosen.system, chosen.sampling.temperature) == ("code", "terse", 0.2)
        assert read(path).values == {"temperature": 1.5, "mode": "sps", "preset": "code"}


async def test_a_preset_holds_also_where_its_numbers_are_shown_shorter(path):
    path.write_text("[presets.fine]\ntop_p = 0.1234567890123456\n")
    async with opened() as page:
        await page.go("preset")
        await page.press("right")
        assert page.control("top_p").value == "0.123456789012"
        assert page.control("preset").value == "fine"


async def test_changing_a_filled_field_shows_that_the_preset_ends(path):
    async with opened(preset="code") as page:
        await page.type("temperature", "0.3")
        assert page.control("preset").value == "none"


async def test_values_are_saved_as_a_preset(path):
    async with opened() as page:
        await page.type("top_k", "5")
        await page.press("ctrl+n", *"mine", "enter")
        assert page.control("preset").value == "mine"
        chosen = await page.saved("ctrl+s")
        assert chosen.preset == "mine"
        saved = read(path)
        assert saved.values["preset"] == "mine"
        assert saved.presets["mine"]["top_k"] == 5
        assert saved.presets["code"] == {"temperature": 0.2, "system": "terse"}


async def test_what_an_option_or_variable_said_is_marked_and_not_saved_over(path, monkeypatch):
    monkeypatch.setenv("SPECCHAT_THREADS", "2")
    async with opened((120, 40), temperature=0.3) as page:
        assert page.help("temperature").startswith("from --temperature · ")
        assert page.help("threads").startswith("from SPECCHAT_THREADS · ")
        await page.type("top_k", "5")
        chosen = await page.saved("enter")
        assert (chosen.sampling.temperature, chosen.threads) == (0.3, 2)
        assert read(path).values == {"temperature": 1.5, "mode": "sps", "top_k": 5}


async def test_a_file_that_cannot_be_written_is_said_and_the_change_still_counts(path):
    async with opened() as page:
        path.write_text(MINE.replace("1.5", "1.25"))  # by another program
        await page.type("temperature", "0.9")
        chosen = await page.saved("enter")
        assert chosen.sampling.temperature == 0.9
        assert "until you quit" in page.told[0]
        assert "1.25" in path.read_text()


async def test_a_file_that_broke_meanwhile_is_said_and_left_alone(path):
    settings = load({})
    path.write_text("oh =")
    app = App[None]()
    async with app.run_test() as pilot:
        page = Open(pilot, SettingsScreen(settings))
        app.push_screen(page.screen, page.results.append)
        await page.until(lambda: page.told)
        assert "this is not TOML" in page.told[0]
        await page.type("temperature", "0.9")
        chosen = await page.saved("enter")
        assert chosen.sampling.temperature == 0.9
        assert path.read_text() == "oh ="


async def test_the_filter_leaves_the_fields_that_have_the_words(path):
    async with opened() as page:
        await page.press("ctrl+f", *"repeat w", "enter")
        shown = [name for name, field in page.screen.fields.items() if field.display]
        assert shown == ["repeat_window"]
        assert page.screen.focused is page.control("repeat_window")


async def test_sampling_that_the_models_file_recommends_is_offered(path, tmp_path):
    model = tmp_path / "wise.gguf"
    writer = GGUFWriter(model, "llama")
    writer.add_float32("general.sampling.temp", 0.5)
    writer.add_int32("general.sampling.top_k", 20)
    writer.add_float32("general.sampling.top_p", 7.0)  # no probability
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    async with opened(target=model) as page:
        await page.until(lambda: "wise" in page.control("preset").choices)
        await page.go("preset")
        chosen = await page.saved("left", "ctrl+s")
        assert (chosen.preset, chosen.sampling.top_k, chosen.sampling.top_p) == ("wise", 20, 0.95)
        assert read(path).presets["wise"] == {"temperature": 0.5, "top_k": 20}


async def test_a_model_without_a_recommendation_offers_none(path, tmp_path):
    async with opened(target=tiny.write(tmp_path / "tiny.gguf")) as page:
        await page.app.workers.wait_for_complete()
        assert page.control("preset").choices == ("none", "code")


async def test_control_characters_of_the_file_are_shown_not_obeyed(path):
    path.write_text('target = "\\u001b[31mred"\n')
    async with opened() as page:
        assert "\x1b[31mred" not in page.app.export_screenshot()
        assert page.screen.form.values["target"] == "\x1b[31mred"
        chosen = await page.saved("enter")
        assert chosen.target == "\x1b[31mred"


@pytest.mark.parametrize("size", [(200, 60), (40, 10), (10, 3), (1, 1)])
@pytest.mark.some(2)
async def test_every_size_works(path, size):
    async with opened(size) as page:
        await page.press("down", "down", "ctrl+n", "escape", "ctrl+f", "escape")
        assert await page.result() is None
