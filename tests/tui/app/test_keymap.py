"""`[keys]`: what can be remapped, and what is said of the rest."""

import subprocess
import sys

import pytest
from rich.cells import cell_len
from textual.app import App
from textual.binding import Binding
from textual.widgets import Static

from assistant.settings.settings import Settings
from tests import ROOT
from tests.tui.rest import until
from tui.app.help_screen import AREAS, KEYS_WIDTH, HelpScreen
from tui.app.keymap import all_bindings, prompt_keys, readable, usable
from tui.app.program import Program


@pytest.fixture(scope="module")
def bindings():
    return all_bindings()


def test_bindings_of_all_screens_are_found_by_their_names(bindings):
    assert {"chat.help", "chat.new", "chat.stop", "settings.edit", "prompt.quit"} <= set(bindings)
    assert all("." in name for name in bindings)


def test_looking_for_keys_reaches_no_laboratory():
    code = (
        "import re, sys\nfrom tui.app.keymap import all_bindings\nall_bindings()\n"
        "sys.exit([n for n in sys.modules if re.match('(assistant|tui)[.]lab', n)] or None)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_a_good_keymap_is_taken_whole(bindings):
    keymap = {"chat.new": "f8, f10", "turn.view": "x", "chat.help": "f11"}
    assert usable(keymap, bindings) == ({**keymap, "chat.new": "f8,f10"}, [])


@pytest.mark.parametrize(
    ("name", "keys", "complaint"),
    [
        ("chat.mew", "f8", "there is no such key; did you mean chat.new?"),
        ("zzzzzz", "f8", "there is no such key; specchat config keys lists them."),
        ("chat.new", "strg+k", "'strg+k' is not a key; write it as ctrl+t or f8."),
        ("chat.new", "f8,", "'' is not a key; write it as ctrl+t or f8."),
        ("chat.new", "", "'' is not a key; write it as ctrl+t or f8."),
        ("chat.new", "ctrl+hugo", "'ctrl+hugo' is not a key; write it as ctrl+t or f8."),
        ("chat.new", "ctrl+i", "terminals cannot tell ctrl+i from tab."),
        ("chat.new", "ctrl+k", "ctrl+k already belongs to the prompt: Delete to line end."),
        ("chat.new", "k", "k is typed into the prompt; add ctrl+."),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(bindings, name, keys, complaint):
    assert usable({name: keys}, bindings) == ({}, [f"[keys] {name}: {complaint}"])


def test_no_key_of_the_app_is_taken_by_the_prompt_that_has_the_focus(bindings):
    own = set(prompt_keys(bindings)) - {"ctrl+z"}  # goes on to the chat when nothing is undone
    for name, bound in bindings.items():
        if name.split(".")[0] in ("app", "chat") and not bound.priority:
            assert not set(bound.keys.split(",")) & own, name


def test_keys_that_mean_two_things_in_one_place_are_named(bindings):
    _, complaints = usable({"chat.new": "ctrl+t"}, bindings)
    assert complaints == ["[keys] chat.new: ctrl+t is also chat.mode."]
    assert usable({"chat.new": "ctrl+t", "chat.mode": "ctrl+n"}, bindings)[1] == []


def test_all_keys_fit_their_column_of_the_help(bindings):
    wide = {readable(bound.keys) for bound in bindings.values() if bound.description}
    assert [keys for keys in wide if len(keys) >= KEYS_WIDTH] == []


def test_keys_are_written_as_people_do():
    assert readable("ctrl+k, f9,escape,G,pageup") == "Ctrl+K, F9, Esc, G, PgUp"


class Tiny(Program):
    BINDINGS = [Binding("f9", "act", "Act", id="chat.new")]  # noqa: RUF012

    acted = 0

    def action_act(self) -> None:
        self.acted += 1


def notices(app: App[None]) -> list[str]:
    return [notice.message for notice in app._notifications]


async def test_keymap_and_theme_come_from_the_settings_and_bad_keys_keep_their_own():
    app = Tiny()
    async with app.run_test() as pilot:
        keymap = {"chat.new": "f8", "app.quit": "strg+q", "nothing.here": "f2"}
        app.appear(Settings(theme="nord", keymap=keymap))
        await until(pilot, lambda: len(notices(app)) == 2)
        await pilot.press("f9", "f8")
        assert (app.acted, app.theme) == (1, "nord")
        assert any("nothing.here" in notice for notice in notices(app))


async def test_what_is_odd_in_the_file_is_said_once():
    app = Tiny()
    async with app.run_test() as pilot:
        app.warn_of_config(["config.toml:1:1: \x1b[31mno"])
        await pilot.pause()
        assert notices(app) == ["config.toml:1:1: ␛[31mno"]


async def test_no_line_of_the_help_is_cut_where_most_terminals_are_as_wide():
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(HelpScreen())
        await until(pilot, lambda: list(app.screen.query("#keys .keys")))
        for part in app.screen.query("#keys .keys"):
            for line in str(part.render()).splitlines():
                assert cell_len(line) <= part.size.width, line


async def test_help_lists_the_keys_as_they_are_now():
    app = Tiny()
    async with app.run_test(size=(100, 300)) as pilot:
        app.set_keymap({"chat.new": "ctrl+b"})
        app.push_screen(HelpScreen())
        await until(pilot, lambda: list(app.screen.query("#keys .keys")))
        text = "\n".join(str(part.render()) for part in app.screen.query(Static))
        rows = [line for line in text.splitlines() if "New conversation" in line]
        assert all(row.startswith("Ctrl+B") for row in rows)
        assert len(rows) == 2  # among those to know first, and among all
        for bound in all_bindings().values():
            assert bound.description in text
        for word in ("ArS", "SpS", "tokens per round", "correction", "lookahead", "@ "):
            assert word in text
        for meaning, keys in (("Search", "/ "), ("Remove", "Delete, d ")):
            assert any(line.startswith(keys) for line in text.splitlines() if meaning in line)
        known = {name.split(".")[0] for name in all_bindings()}
        assert known <= set(AREAS)  # each has a heading of words
