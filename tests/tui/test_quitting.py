"""Every way out frees the models; the real terminal is covered by the tests with a pty."""

import os
import signal
from pathlib import Path
from threading import Thread

import pytest

from assistant.events import Decoded
from tests.tui.chat import Chat, open_chat


def engine_is_gone(chat: Chat) -> bool:
    return not chat.engine.engine._thread.is_alive()


@pytest.mark.parametrize("keys", [["ctrl+q"], ["ctrl+d"], ["ctrl+c", "ctrl+c"]])
@pytest.mark.some(2)
async def test_keys_that_quit_free_the_models(target: Path, keys: list[str]) -> None:
    async with open_chat(target) as chat:
        await chat.ready()
        await chat.pilot.press(*keys)
        assert not chat.app.is_running or chat.app._exit
    assert engine_is_gone(chat)


async def test_one_ctrl_c_only_hints(target: Path) -> None:
    async with open_chat(target) as chat:
        await chat.pilot.press("ctrl+c")
        assert not chat.app._exit
        assert len(chat.app._notifications) == 1


async def test_ctrl_d_with_text_deletes_and_ctrl_c_with_a_selection_copies(target: Path) -> None:
    async with open_chat(target) as chat:
        await chat.ready()
        chat.prompt.text = "abc"
        await chat.pilot.press("home", "ctrl+d", "shift+end", "ctrl+c")
        assert chat.prompt.text == "bc"
        await chat.until(lambda: chat.app.clipboard == "bc")
        assert not chat.app._exit


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_signal_in_the_middle_of_an_answer_ends_the_app(
    target: Path, draft: Path, number: signal.Signals
) -> None:
    async with open_chat(target, draft, hold=(Decoded, 4)) as chat:
        await chat.ready()
        await chat.send("Go on")
        await chat.held()
        os.kill(os.getpid(), number)
        await chat.until(lambda: chat.app._exit)
        assert chat.app.return_code == 128 + number
    assert engine_is_gone(chat)


async def test_bug_in_a_handler_frees_the_models_and_is_not_hidden(target: Path) -> None:
    with pytest.raises(ZeroDivisionError):  # noqa: PT012 - raised on the way out
        async with open_chat(target) as chat:
            await chat.ready()
            chat.app.call_later(lambda: 1 / 0)
            await chat.pilot.pause()
    assert engine_is_gone(chat)


async def test_bug_on_another_thread_ends_the_app_and_is_not_hidden(target: Path) -> None:
    with pytest.raises(ZeroDivisionError):  # noqa: PT012 - raised on the way out
        async with open_chat(target) as chat:
            await chat.ready()
            Thread(target=lambda: 1 / 0).start()
            await chat.until(lambda: chat.app._exception)
