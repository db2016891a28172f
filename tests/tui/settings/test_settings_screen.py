"""The settings screen, by its keys, on a real config.toml."""

import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from textwrap import wrap

import pytest
from textual.pilot import Pilot

from assistant.settings.config_file import read
from assistant.settings.layers import Choice, Layers, load, read_choices
from assistant.settings.settings import KEYS
from assistant.settings.template import template
from tests.tui.chat.chat_driver import Pair, open_chat
from tests.tui.driver import Driver
from tui.app.program import Program
from tui.settings.editor import edit_file, write_template
from tui.settings.screen import SettingsScreen, explain
from tui.widgets.entry_screen import EntryScreen

MINE = """\
# mine
temperature = 1.5  # warm
mode = "sps"
"""
DAILY = [key.name for key in KEYS.values() if key.daily]


class Open(Driver):
    """The settings screen under test."""

    def __init__(
        self, app: Program, pilot: Pilot[None], screen: SettingsScreen, used: list[Layers]
    ) -> None:
        super().__init__(pilot)
        self.app, self.screen, self.used = app, screen, used

    async def go(self, name: str) -> None:
        self.screen.list.highlighted = self.screen.list.get_option_index(name)
        await self.pilot.pause()

    async def type(self, name: str, text: str) -> EntryScreen:
        """Type a value for a key, without Enter."""
        await self.go(name)
        await self.press("enter")
        entry = self.app.screen
        assert isinstance(entry, EntryScreen)
        await self.press(*text)
        return entry

    def row(self, name: str) -> str:
        return str(self.screen.list.get_option(name).prompt)

    @property
    def detail(self) -> str:
        return str(self.screen.detail.render())

    def value(self, name: str) -> object:
        return self.used[-1].in_force[name][0]


@pytest.fixture
def path(unset_home: Path) -> Path:
    (unset_home / "config.toml").write_text(MINE)
    return unset_home / "config.toml"


@asynccontextmanager
async def opened(size: tuple[int, int] = (100, 30), **options: object) -> AsyncIterator[Open]:
    app, used = Program(), list[Layers]()
    async with app.run_test(size=size) as pilot:
        page = Open(app, pilot, SettingsScreen(load(options), used.append), used)
        await page.until(lambda: app._buffered is None)  # keys before that are kept for the prompt
        app.push_screen(page.screen)
        await pilot.pause()
        yield page


@pytest.fixture
def editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Make a script the user's editor, which gets the terminal and, as "$2", the file."""

    def with_script(script: str) -> None:
        monkeypatch.setattr(Program, "suspend", lambda _: nullcontext())
        path = tmp_path / "my editor"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o700)
        monkeypatch.setenv("VISUAL", f"'{path}' --wait")

    return with_script


async def test_the_keys_of_every_day_are_listed_with_values_and_where_these_came_from(path):
    async with opened(max_tokens=5) as page:
        assert [option.id for option in page.screen.list.options] == DAILY
        assert page.row("temperature").split()[:2] == ["Temperature", "1.5"]
        assert page.row("temperature").endswith("temperature · config.toml")
        assert page.row("max_tokens").startswith("Length limit  ")
        assert page.row("max_tokens").endswith("max_tokens · --max-tokens")
        assert page.row("theme").split() == ["Theme", "‹", "textual-dark", "›", "theme"]


async def test_each_explanation_is_whole_on_a_small_screen(path):
    async with opened(size=(40, 20)) as page:
        for name in DAILY:
            await page.go(name)
            lines = wrap(page.detail, page.screen.detail.size.width - 2)
            assert len(lines) <= page.screen.detail.size.height
            assert page.screen.detail.region.bottom < page.screen.size.height


async def test_a_typed_value_counts_at_once_and_the_file_is_left_alone(path):
    async with opened() as page:
        await page.type("temperature", "0.9")
        await page.press("enter")
        assert page.value("temperature") == 0.9
        words = " ".join(page.row("temperature").split())
        assert words == "Temperature 0.9 temperature · state.json"
        assert "Delete goes back to 1.5 (config.toml)." in page.detail
        await page.press("delete")
        assert (page.value("temperature"), page.used[-1].choices) == (1.5, {})
        await page.press("escape")
        assert len(page.used) == 2
    assert path.read_text() == MINE


async def test_a_wrong_value_stays_in_its_field_with_the_reason(path):
    async with opened() as page:
        entry = await page.type("max_tokens", "no")
        await page.press("enter")
        assert entry.is_current
        refusal = "✗ max_tokens must be none or a whole number, 1 or more: 'no'"
        assert str(entry.message.render()) == refusal
        await page.press("backspace", "backspace", "7")
        assert "Stop after this many tokens." in str(entry.message.render())
        await page.press("escape")
        assert (page.app.screen, page.used) == (page.screen, [])


async def test_keys_that_are_typed_fast_all_arrive_in_their_order(path):
    async with opened() as page:
        page.at_once("down", "enter", *"tame", "enter")
        await page.until(lambda: page.used)
        assert page.value("system") == "tame"
        await page.until(lambda: page.app.screen is page.screen)
        page.at_once("down", "enter", *"0.33", "enter", "up", "up", *"44", "enter")
        await page.until(lambda: len(page.used) == 3)
        assert page.value("temperature") == 0.33
        assert page.value("system") == "tame"
        assert page.value("mode") == "ars"  # 44 chose nothing, Enter the one after "sps"


async def test_a_text_of_several_lines_is_typed_and_an_emptied_value_is_that_of_the_file(path):
    async with opened(temperature=0.3) as page:
        await page.type("system", "Hi")
        await page.press("ctrl+j", *"you", "enter")
        assert page.value("system") == "Hi\nyou"
        assert page.row("system").split()[2:5] == ["Hi", "⏎", "you"]
        assert "Given by --temperature for this run" in explain(page.screen.now, "temperature")[0]
        await page.type("temperature", "")
        await page.press("delete", "enter")
        assert page.value("temperature") == 1.5
        await page.type("temperature", "1")
        await page.press("ctrl+j", "enter")
        assert page.value("temperature") == 1


async def test_the_system_prompt_of_the_file_is_emptied_and_arrows_choose_among_a_few_values(path):
    path.write_text('system = "mine"\nmode = "sps"\n')
    async with opened() as page:
        await page.type("system", "")
        await page.press("backspace", "enter")
        assert page.value("system") == ""
        await page.press("backspace")
        assert page.value("system") == "mine"
        await page.go("mode")
        await page.press("right")
        assert page.value("mode") == "ars"
        await page.press("left", "left")
        assert page.value("mode") == "auto"


async def test_a_key_that_was_chosen_elsewhere_is_listed_and_can_be_reset(path):
    (path.parent / "state.json").write_text('{"target": {"value": "\\u001b[31mred"}}')
    async with opened() as page:
        assert [option.id for option in page.screen.list.options] == ["target", *DAILY]
        await page.type("target", "")
        assert "\x1b[31mred" not in page.app.export_screenshot()
        await page.press("enter")
        assert page.used == []
        await page.press("delete")
        assert page.value("target") == "auto"


async def test_the_file_is_edited_and_what_it_says_then_counts(path, editor):
    editor('sed -i "s/1.5/0.8/; s/sps/ars/" "$2"')
    async with opened() as page:
        await page.type("temperature", "0.9")
        await page.press("enter", "e")
        assert (page.value("temperature"), page.value("mode")) == (0.8, "ars")
        await page.go("temperature")
        assert "set after you chose 0.9 here" in page.detail
    assert "# warm" in path.read_text()


async def test_an_error_in_the_edited_file_or_of_the_editor_is_shown_until_it_is_right(
    path, editor
):
    editor('echo "temperature = 300\ntemprature = 1" > "$2"')
    async with opened() as page:
        await page.press("e")
        assert f"{path}: temperature must be a number from 0 to 100: 300" in page.notices[0]
        assert "stay as they were" in page.notices[0]
        assert page.used == []
        editor('echo "temprature = 1" > "$2"')
        await page.press("e")
        hint = 'there is no key "temprature"; did you mean "temperature"?'
        assert page.notices == [f"{path}: {hint}"]
        assert page.value("temperature") == 0.7
        editor('echo "top_k = 3" > "$2"; exit 3')
        await page.press("e")
        assert "Editing failed" in page.notices[-1]
        assert page.value("top_k") == 3
        editor('echo "save = false" > "$2"')
        await page.press("e")
        assert page.notices[-1] == "save takes effect at the next start."


async def test_an_old_warning_about_the_file_is_shown_on_no_screen(path, editor):
    editor("exit 0")
    app = Program()
    async with app.run_test(notifications=True) as pilot:
        app.warn_of_config(["config.toml: old"])
        await pilot.pause()
        assert app.screen.query("Toast")
        below = app.screen
        app.push_screen(SettingsScreen(load({}), lambda layers: None))
        await pilot.pause()
        await pilot.press("e")
        await pilot.pause()
        assert not below.query("Toast")


async def test_a_file_that_changed_meanwhile_is_read_when_the_screen_opens(path):
    layers = load({})
    path.write_text(MINE.replace("1.5", "1.25"))
    app, used = Program(), list[Layers]()
    async with app.run_test() as pilot:
        app.push_screen(SettingsScreen(layers, used.append))
        await pilot.pause()
        assert used[-1].in_force["temperature"][0] == 1.25


# The editor


def test_without_a_file_the_editor_opens_a_template(path, tmp_path, editor):
    editor("exit 0")
    path = tmp_path / "new" / "config.toml"
    assert write_template(path) + edit_file(path) == ""
    assert path.read_text() == template()
    assert write_template(path) + edit_file(path) == ""
    assert read(path).values == {}


@pytest.mark.parametrize(
    ("visual", "plain", "complaint"),
    [
        ("nowhere-at-all", "vi", "nowhere-at-all: Editing failed"),
        ("", "'", "No closing quotation"),
        ("", "false", "false: Editing failed. Set EDITOR"),
        ("", " ", "Editing failed"),
    ],
)
def test_an_editor_that_does_not_work_is_said(path, monkeypatch, visual, plain, complaint):
    monkeypatch.setenv("VISUAL", visual)
    monkeypatch.setenv("EDITOR", plain)
    assert complaint in write_template(path) + edit_file(path, 12)


@pytest.mark.parametrize(
    ("editor", "arguments"), [("vi", "+12 {}"), ("code", "--goto {}:12"), ("subl", "{}:12")]
)
def test_an_editor_begins_at_a_line(path, tmp_path, monkeypatch, editor, arguments):
    log, script = tmp_path / "log", tmp_path / editor
    script.write_text(f'#!/bin/sh\necho "$@" > {log}\n')
    script.chmod(0o700)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(script))
    odd = tmp_path / "$(touch oops) `touch oops`.md"
    assert edit_file(odd, 12) == ""
    assert log.read_text() == f"{arguments.format(odd)}\n"
    assert not list(Path().glob("oops*"))


def test_an_interrupt_is_the_editors_alone(path, editor):
    editor('kill -INT $PPID; trap "exit 0" INT; kill -INT $$; exit 9')
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert write_template(path) + edit_file(path) == ""
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# In the chat


async def test_a_change_is_kept_and_a_theme_from_the_palette_too(pair: Pair) -> None:
    async with open_chat(*pair) as chat:
        await chat.press("ctrl+t", "ctrl+g")
        switches = chat.screen.conversation.switches
        mode, ghosts = chat.app.settings.mode, switches["ghosts"]
        chat.app.theme = "nord"  # as the palette does
        await chat.press("f6")
        assert (chat.app.settings.mode, switches["ghosts"]) == (mode, ghosts)
        page = chat.app.screen
        assert isinstance(page, SettingsScreen)
        assert page.now.in_force["mode"][0] == chat.app.settings.mode
        for name in ("colours", "ghosts"):
            page.list.highlighted = page.list.get_option_index(name)
            await chat.press("right")
            assert switches["ghosts"]  # as Ctrl+G chose, and then again here
        await chat.press("escape")
        assert (chat.app.theme, chat.app.settings.ghosts) == ("nord", True)
        assert chat.app.settings.n_ctx == 512  # as the chat was opened
    chosen = {"theme": Choice("nord", None), "colours": Choice(False, None)}
    assert read_choices()[0] == chosen | {"ghosts": Choice(True, None)}


async def test_a_change_is_said_that_is_larger_than_the_model_or_cannot_be_kept_and_counts(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(*pair, learn=False) as chat:  # which cannot be kept either, and says so
        await chat.press("f6")
        chat.app._use_layers(chat.app.layers.choose(ctx=999_999))
        notice = "The context is 1,024 tokens, not 999,999: target has no more."
        await chat.until(lambda: notice in chat.notices and notice in chat.shown(".note"))
        (Path(os.environ["SPECCHAT_HOME"]) / "file").touch()
        monkeypatch.setenv("SPECCHAT_HOME", os.environ["SPECCHAT_HOME"] + "/file")
        chat.app._use_layers(chat.app.layers.choose(ghosts=True))
        await chat.pilot.pause()
        assert chat.app.settings.ghosts
        assert "state.json cannot be written" in "".join(chat.notices)
        assert "until you quit" in "".join(chat.notices)


def test_the_explanation_of_a_setting_fits_below_the_list_at_80_columns() -> None:
    explanations = {name: explain(Layers(), name)[1] for name in DAILY}
    assert {name for name, text in explanations.items() if len(wrap(text, 76)) > 3} == set()
    assert "Allowed: yes, no. Takes effect" in explanations["ghosts"]
    assert "ansi-dark, ansi-light and " in explanations["theme"]
    assert "Takes effect immediately: the models are loaded again." in explanations["ctx"]
