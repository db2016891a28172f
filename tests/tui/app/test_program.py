"""The Textual app: safe lines, crash reports, threads, and every way to quit.

Every way out frees the models; the real terminal is covered by the tests with a pty.
"""

import os
import random
import runpy
import sys
import termios
from pathlib import Path
from threading import Thread

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from textual.app import ComposeResult
from textual.color import Color
from textual.widgets import Input, OptionList, Static

from assistant.events import Decoded, Warned
from tests.hostile_texts import COMMANDS, texts, valid
from tests.patience import WAIT_S
from tests.tui.chat.chat_driver import open_chat
from tui import labels
from tui.app.help_screen import HelpScreen
from tui.app.program import ControlFilter, Program
from tui.app.signals import hang_up_if_gone
from tui.app.textual_private import Palette
from tui.models.screen import ModelsScreen

BLACK = Color(0, 0, 0)
FORBIDDEN = set(map(chr, COMMANDS)) | {"\n"}


def shown(text: str) -> str:
    return "".join(segment.text for segment in ControlFilter().apply([Segment(text)], BLACK))


def test_two_thousand_lines_lose_what_commands_and_stay_as_wide() -> None:
    for text in texts(2000):
        line = shown(text)
        assert not FORBIDDEN & set(line)
        assert cell_len(line) == cell_len(valid(text))


@pytest.mark.parametrize(
    "text", ["plain", "naïve 日本語 e\u0301", "שלום", "👨\u200d👩\u200d👧", "a\tb"]
)
def test_ordinary_lines_are_left_alone(text: str) -> None:
    assert shown(text) == text


class Careless(Program):
    """An app whose widgets forget to make safe what they show."""

    def compose(self) -> ComposeResult:
        dice = random.Random(1)
        yield Input("".join(chr(dice.choice(COMMANDS[:70])) for _ in range(60)))
        yield Static("\x1b]0;title\x07 and \x9b2J", markup=False)


async def test_a_widget_that_forgets_is_harmless() -> None:
    async with Careless().run_test() as pilot:
        lines = pilot.app.screen._compositor.render_strips()
        painted = "".join(segment.text for line in lines for segment in line)
        assert "]0;title" in painted
        assert not FORBIDDEN & set(painted)


def test_a_terminal_is_gone_if_nothing_can_be_written_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """macOS still has the settings of one that is gone; elsewhere, writes wait for each other."""
    master, slave = os.openpty()
    Thread(target=os.write, args=(slave, bytes(1_000_000)), daemon=True).start()
    os.read(master, 1)  # the output is under way, and nobody reads the rest
    (look := Thread(target=hang_up_if_gone, args=(slave,), daemon=True)).start()
    look.join(WAIT_S)
    assert not look.is_alive()
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(termios, "tcgetattr", lambda _: [])
    monkeypatch.setattr(os, "kill", lambda *_: None)
    os.close(master)
    assert hang_up_if_gone(slave)
    os.close(slave)


async def test_a_thread_that_dies_ends_the_program_as_any_bug_does(target: Path) -> None:
    async def dies() -> None:
        async with open_chat(target) as chat:
            Thread(target=lambda: 1 / 0).start()
            await chat.until(lambda: chat.app._exception is not None)

    with pytest.raises(ZeroDivisionError):
        await dies()


async def test_an_event_of_the_engine_after_the_end_is_ignored(target: Path) -> None:
    async with open_chat(target, hold=(Decoded, 2), asking="?") as chat:
        controller = chat.screen.controller
    controller.handle(Warned("Too late."))


async def test_ctrl_d_with_text_deletes_and_ctrl_c_with_a_selection_copies(target: Path) -> None:
    async with open_chat(target) as chat:
        chat.prompt.editor.text = "abc"
        await chat.pilot.press("home", "ctrl+d", "shift+end", "ctrl+c")
        assert chat.prompt.text == "bc"
        await chat.until(lambda: chat.app.clipboard == "bc")
        assert not chat.app._exit


async def test_on_macos_shift_tab_goes_to_the_messages(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its Ctrl+↑ opens Mission Control."""
    async with open_chat(target) as chat:
        await chat.ask("?")
        await chat.act("shift+tab")
        assert chat.focused in chat.screen.conversation.turns
    monkeypatch.setattr(sys, "platform", "darwin")
    assert runpy.run_path(labels.__file__)["TO_MESSAGES"] == "Shift+Tab"


async def test_a_screen_is_closed_once_and_a_page_key_before_the_palette_is_laid_out_is_no_bug(
    target: Path,
) -> None:
    async with open_chat(target) as chat:
        for screen in (HelpScreen(chat.screen), Palette(), ModelsScreen(chat.app.settings)):
            await chat.app.push_screen(screen)
            screen.dismiss(None)
            screen.dismiss(None)
            await chat.until(lambda: chat.app.screen is chat.screen)
        palette = Palette()
        await chat.app.push_screen(palette)
        rows = palette.query_one(OptionList)
        with palette.prevent(OptionList.OptionHighlighted):
            rows.display = False
            rows.clear_options().add_options(["one", "two"])
            rows.highlighted = 1
        await palette.run_action("command_list('page_up')")
        palette.dismiss(None)
        await chat.until(lambda: chat.app.screen is chat.screen)
        chat.app.search_themes()
        await chat.until(lambda: isinstance(chat.app.screen, Palette))
