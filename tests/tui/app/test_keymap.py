"""The keys of all screens, and the page that lists them."""

import pytest
from textual.binding import Binding, BindingsMap
from textual.widgets import Static

from tests.tui.app.bindings import all_bindings
from tui.app.help_screen import KEYS_WIDTH, PROMISE, HelpScreen, readable
from tui.app.program import Program
from tui.chat.prompt.editor import Editor


@pytest.fixture(scope="module")
def bindings() -> dict[str, Binding]:
    return all_bindings()


def test_no_key_of_the_app_is_taken_by_the_prompt_that_has_the_focus(bindings):
    own = {*BindingsMap(Editor.BINDINGS).key_to_bindings}
    own -= {"ctrl+z"}  # goes on to the chat when nothing is undone
    for name, bound in bindings.items():
        if name.split(".")[0] in ("app", "chat") and not bound.priority:
            assert not set(bound.key.split(",")) & own, name


def test_all_keys_fit_their_column_of_the_help(bindings):
    wide = {readable(bound.key) for bound in bindings.values() if bound.description}
    assert [keys for keys in wide if len(keys) >= KEYS_WIDTH] == []


def test_keys_are_written_as_people_do():
    assert readable("ctrl+k, f9,escape,G,pageup") == "Ctrl+K, F9, Esc, G, PgUp"


async def test_a_toast_is_safe_without_markup_and_replaces_the_one_before_it():
    app = Program()
    async with app.run_test() as pilot:
        app.notify("One")
        app.warn_of_config(["config.toml:1:1: \x1b[31mno"])
        await pilot.pause()
        (toast,) = app._notifications
        assert (toast.message, toast.markup) == ("config.toml:1:1: ␛[31mno", False)


async def test_the_help_explains_the_terms_and_ends_with_what_is_promised():
    app = Program()
    async with app.run_test(size=(100, 300)) as pilot:
        app.push_screen(HelpScreen(app.screen))
        await pilot.pause()
        text = "\n".join(str(part.render()) for part in app.screen.query(Static))
        for word in ("ArS", "SpS", "tokens per round", "correction", PROMISE):
            assert word in text
