"""The keys of all screens, and the page that lists them."""

import subprocess
import sys

import pytest
from rich.cells import cell_len
from textual.widgets import Static

from tests import ROOT
from tests.tui.rest import until
from tui.app.help_screen import AREAS, KEYS_WIDTH, HelpScreen, all_bindings, readable
from tui.app.program import Program
from tui.chat.prompt.editor import Editor


@pytest.fixture(scope="module")
def bindings():
    return all_bindings()


def test_bindings_of_all_screens_are_found_by_their_names(bindings):
    assert {"chat.help", "chat.new", "chat.stop", "settings.edit", "prompt.quit"} <= set(bindings)
    assert all("." in name for name in bindings)


def test_looking_for_keys_reaches_no_laboratory():
    code = (
        "import re, sys\nfrom tui.app.help_screen import all_bindings\nall_bindings()\n"
        "sys.exit([n for n in sys.modules if re.match('(assistant|tui)[.]lab([.]|$)', n)] or None)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_no_key_of_the_app_is_taken_by_the_prompt_that_has_the_focus(bindings):
    own = {key for bound in Editor.BINDINGS for key in bound.key.split(",")}
    own -= {"ctrl+z"}  # goes on to the chat when nothing is undone
    for name, bound in bindings.items():
        if name.split(".")[0] in ("app", "chat") and not bound.priority:
            assert not set(bound.key.split(",")) & own, name


def test_all_keys_fit_their_column_of_the_help(bindings):
    wide = {readable(bound.key) for bound in bindings.values() if bound.description}
    assert [keys for keys in wide if len(keys) >= KEYS_WIDTH] == []


def test_keys_are_written_as_people_do():
    assert readable("ctrl+k, f9,escape,G,pageup") == "Ctrl+K, F9, Esc, G, PgUp"


async def test_a_warning_about_the_config_is_shown_once():
    app = Program()
    async with app.run_test() as pilot:
        app.warn_of_config(["config.toml:1:1: \x1b[31mno"])
        await pilot.pause()
        assert [notice.message for notice in app._notifications] == ["config.toml:1:1: ␛[31mno"]


async def test_the_newest_toast_replaces_the_one_before():
    app = Program()
    async with app.run_test() as pilot:
        for text in ("One", "Two"):
            app.notify(text)
        await pilot.pause()
        assert [notice.message for notice in app._notifications] == ["Two"]


async def test_no_line_of_the_help_is_cut_where_most_terminals_are_as_wide():
    app = Program()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(HelpScreen())
        await until(pilot, lambda: list(app.screen.query("#keys .keys")))
        for part in app.screen.query("#keys .keys"):
            for line in str(part.render()).splitlines():
                assert cell_len(line) <= part.size.width, line


async def test_help_lists_the_keys():
    app = Program()
    async with app.run_test(size=(100, 300)) as pilot:
        app.push_screen(HelpScreen())
        await until(pilot, lambda: list(app.screen.query("#keys .keys")))
        text = "\n".join(str(part.render()) for part in app.screen.query(Static))
        rows = [line for line in text.splitlines() if "New conversation" in line]
        assert all(row.startswith("Ctrl+N") for row in rows)
        assert len(rows) == 1
        for bound in all_bindings().values():
            assert (bound.tooltip or bound.description) in text
        for word in ("ArS", "SpS", "tokens per round", "correction", "@ "):
            assert word in text
        for meaning, keys in (("Rename", "Ctrl+R "), ("Remove", "Delete, d ")):
            assert any(line.startswith(keys) for line in text.splitlines() if meaning in line)
        known = {name.split(".")[0] for name in all_bindings()}
        assert known <= set(AREAS)  # each has a heading of words
