"""Bell and notification after a long answer, and the prompt in an editor."""

import tempfile
from pathlib import Path

import pytest

from assistant.session.unsent_text import Unsent
from tests.assistant.session.scripted_session import READ, Box
from tests.tui.chat.chat_driver import Chat, Pair, open_chat, use_editor


def received(chat: Chat) -> list[str]:
    """Return what the terminal gets from now on."""
    written: list[str] = []
    assert chat.app._driver is not None
    chat.app._driver.write = written.append  # type: ignore[assignment,method-assign]
    return written


def rung(text: str) -> str:
    """Return what rings, and notifies in the terminals that read urxvt's sequence."""
    return f"\a\x1b]777;notify;specchat;{text}\x1b\\"


@pytest.mark.parametrize(
    ("focus", "notify", "long_s", "rings"),
    [(False, "auto", -1, 1), (True, "auto", -1, 0), (False, "off", -1, 0), (False, "auto", 60, 0)],
)
async def test_a_long_answer_rings_where_nobody_looks(
    focus: bool, notify: str, long_s: int, rings: int, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.chat.chat_controller.LONG_S", long_s)
    async with open_chat(*pair, notify=notify) as chat:
        written = received(chat)
        chat.app.app_focus = focus
        chat.screen.controller.submit(Unsent("Why?"))
        await chat.until(lambda: len(chat.texts) == 2 and chat.screen.session.idle)
        bells = [text for text in written if "\a" in text]
        assert bells == [rung("The answer is complete.")] * rings


async def test_a_call_that_waits_rings_where_nobody_looks_and_iterm2_in_its_own_way(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(*pair, n_ctx=4096) as chat:
        chat.use(Box())
        chat.engine.script.calls = [(READ,)]
        written = received(chat)
        chat.app.app_focus = False
        chat.screen.controller.submit(Unsent("Why?"))
        await chat.until(lambda: chat.screen.controller.view.approval)
        bells = [text for text in written if "\a" in text]
        assert bells == [rung("A tool call is waiting for you.")]
        monkeypatch.setenv("LC_TERMINAL", "iTerm2")  # which ssh passes on
        chat.app.ring("Done.")
        assert written[-1] == "\a\x1b]9;specchat: Done.\x1b\\"


async def test_the_prompt_is_written_in_an_editor(pair: Pair, tmp_path: Path, monkeypatch) -> None:
    use_editor(tmp_path, monkeypatch, 'echo " and more" >> "$1"')
    async with open_chat(*pair) as chat:
        await chat.press("a", "f12")
        assert chat.prompt.text == "a and more"
        monkeypatch.setenv("EDITOR", "/no/such/editor")
        await chat.press("f12")
        assert chat.prompt.text == "a and more"
        assert "Set EDITOR" in chat.notices[-1]
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
        await chat.press("f12")
        assert chat.prompt.text == "a and more"
        assert "cannot be edited there: No such file" in chat.notices[-1]
