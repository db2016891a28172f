"""A user at a real terminal: keys in, a screen out."""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.hostile_texts import ALL
from tests.patience import WAIT_S
from tests.terminal.terminal import BROKEN, DONE, ESCAPE, READY, F, gone, opened, streaming
from tui.chat.screen import KEEP_EVERY

SIZES = 200 if ALL else 40


def test_a_user_chats_and_quits(tmp_path: Path, models: list[str]) -> None:
    with opened(tmp_path, *models, "--max-tokens", "20") as terminal:
        terminal.shows("Ask something", READY)
        terminal.press("Why is the sky blue?\r")
        terminal.shows("Why is the sky blue?", DONE)
        terminal.press("And the grass?\r")
        terminal.until(lambda screen: "And the grass?" in screen and screen.count(DONE) >= 2)
        terminal.quit()


def test_what_is_typed_before_there_is_a_screen_is_in_the_prompt(
    tmp_path: Path, models: list[str]
) -> None:
    with opened(tmp_path, *models) as terminal:
        terminal.press("Typed at once")
        terminal.shows("│ Typed at once", READY)
        terminal.quit()


@pytest.mark.parametrize("key", ["", F[1], F[2], F[3], F[5], F[6]])
@pytest.mark.some(2)
def test_at_rest_nothing_is_painted_whatever_is_open(
    tmp_path: Path, models: list[str], key: str
) -> None:
    with opened(tmp_path, *models) as terminal:
        terminal.shows(READY)
        terminal.press(key)
        deadline = time.monotonic() + WAIT_S
        while terminal.read(2.5 * KEEP_EVERY):
            assert time.monotonic() < deadline, "it paints and paints"
        terminal.press(ESCAPE)
        terminal.quit()


def test_escape_stops_an_answer_and_the_next_one_comes(tmp_path: Path, slow: list[str]) -> None:
    with opened(tmp_path, *slow) as terminal:
        streaming(terminal)
        terminal.press(ESCAPE)
        terminal.shows("stopped", DONE)
        terminal.quit()


def test_forty_sizes_a_second_while_it_answers(tmp_path: Path, slow: list[str]) -> None:
    dice = random.Random(1)
    with opened(tmp_path, *slow) as terminal:
        terminal.shows(READY)
        terminal.press("Go on\r")
        for i in range(SIZES):
            started = time.monotonic()
            size = (dice.randint(1, 220), dice.randint(1, 70)) if i % 10 else (1, 1)
            terminal.resize(*size)
            os.kill(terminal.process.pid, signal.SIGWINCH)
            while time.monotonic() - started < 1 / 40:
                terminal.read(0.005)
            assert terminal.process.poll() is None, terminal.text
        terminal.resize(100, 30)
        os.kill(terminal.process.pid, signal.SIGWINCH)
        terminal.shows("Ask something")
        terminal.press(ESCAPE)
        terminal.shows("stopped")
        terminal.quit()


def test_a_size_that_changed_and_changed_back_unnoticed_is_painted_again(
    tmp_path: Path, slow: list[str]
) -> None:
    with opened(tmp_path, *slow) as terminal:
        terminal.shows(READY, "Ask something")
        terminal.process.send_signal(signal.SIGSTOP)
        terminal.resize(1, 1)  # which loses what was on the screen
        terminal.resize(100, 30)
        terminal.process.send_signal(signal.SIGCONT)
        terminal.shows(READY, "Ask something")
        terminal.quit()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV])
@pytest.mark.some(1)
def test_the_death_of_the_engine_is_a_sentence_and_the_chat_goes_on(
    tmp_path: Path, slow: list[str], number: signal.Signals
) -> None:
    with opened(tmp_path, *slow, size=(120, 50)) as terminal:
        streaming(terminal)
        (worker,) = terminal.workers()
        worker.send_signal(number)
        kept = terminal.shows(number.name, "ended while it answered").count(BROKEN)
        assert kept > 5  # what it said stays
        terminal.press("\x15")  # instead of what the prompt may hold
        while terminal.read(0.3):
            pass
        terminal.press("Again\r")
        terminal.until(lambda screen: "Again" in screen and screen.count(BROKEN) > kept)
        terminal.press(ESCAPE)
        terminal.shows("stopped", DONE)
        terminal.quit()


def test_the_death_of_the_app_leaves_no_orphan(tmp_path: Path, slow: list[str]) -> None:
    with opened(tmp_path, *slow) as terminal:
        streaming(terminal)
        workers = terminal.workers()
        assert workers
        terminal.process.kill()
        terminal.process.wait()
        assert gone(workers)
