"""The chat and the race at a real terminal: keys, screen and resizes."""

import random
import signal
import time
from pathlib import Path

import pytest

from assistant.session.chat_session import SAVE_EVERY_S
from tests.patience import ALL, WAIT_S
from tests.terminal.recording import run
from tests.terminal.terminal import BROKEN, DONE, ESCAPE, READY, F, Terminal, gone, streaming

SIZES = 200 if ALL else 40
OUTCOME = "With guesses: "


def test_a_user_types_at_once_chats_races_and_quits(tmp_path: Path, models: list[str]) -> None:
    with Terminal(tmp_path, *models, "--max-tokens", "30", size=(120, 40)) as terminal:
        terminal.press("Why is the sky blue?")  # before there is a screen
        terminal.shows("│ Why is the sky blue?", READY)
        terminal.press("\r")
        terminal.shows("Why is the sky blue?", DONE)
        terminal.press("Which is faster?" + F[4])
        terminal.shows("without guesses", "with guesses", "Which is faster?")
        terminal.shows(OUTCOME)
        terminal.press(ESCAPE)
        terminal.shows(DONE)
        terminal.press("\r")
        terminal.until(lambda screen: "Which is faster?" in screen and screen.count(DONE) >= 2)


def test_a_race_from_the_command_line_is_shown_and_left(tmp_path: Path, models: list[str]) -> None:
    race = ["race", "Which is faster?", *models, "--max-tokens", "30"]
    with Terminal(tmp_path, *race, size=(120, 40)) as terminal:
        terminal.shows("without guesses", "with guesses", "Which is faster?")
        terminal.shows(OUTCOME)
        workers = terminal.workers()
        terminal.press(ESCAPE)
        assert terminal.end() == 0
        assert gone(workers)


@pytest.mark.parametrize("key", ["", F[1], F[2], F[3], F[5], F[6]])
@pytest.mark.some(2)
def test_nothing_is_painted_at_rest(tmp_path: Path, models: list[str], key: str) -> None:
    with Terminal(tmp_path, *models) as terminal:
        terminal.shows(READY)
        terminal.press(key)
        deadline = time.monotonic() + WAIT_S
        while terminal.read(2.5 * SAVE_EVERY_S):
            assert time.monotonic() < deadline, "it paints and paints"
        terminal.press(ESCAPE)


def test_forty_sizes_a_second_while_it_answers(tmp_path: Path, slow: list[str]) -> None:
    dice = random.Random(1)
    with Terminal(tmp_path, *slow) as terminal:
        terminal.shows(READY)
        terminal.press("Go on\r")
        for i in range(SIZES):
            started = time.monotonic()
            size = (dice.randint(1, 220), dice.randint(1, 70)) if i % 10 else (1, 1)
            terminal.resize(*size)
            while time.monotonic() - started < 1 / 40:
                terminal.read(0.005)
            assert terminal.process.poll() is None, terminal.text
        terminal.resize(100, 30)
        terminal.shows("Ask something")
        terminal.press(ESCAPE)
        terminal.shows("stopped")


def test_the_size_is_that_of_the_terminal_not_the_shell(tmp_path: Path, models: list[str]) -> None:
    with Terminal(tmp_path, *models, COLUMNS="40", LINES="10") as terminal:
        for size in ((100, 30), (60, 20), (120, 40)):
            terminal.resize(*size)
            terminal.until(lambda screen: "Help" in screen.split("\n")[-1])
    code, seen = run(tmp_path, "ask", "--help", size=(60, 20), COLUMNS="150")
    assert code == 0
    assert max(map(len, seen.decode().splitlines())) <= 60


def test_a_size_that_changed_and_back_is_painted_again(tmp_path: Path, slow: list[str]) -> None:
    with Terminal(tmp_path, *slow) as terminal:
        terminal.shows(READY, "Ask something")
        terminal.process.send_signal(signal.SIGSTOP)
        terminal.resize(1, 1)  # which loses what was on the screen
        terminal.resize(100, 30)
        terminal.process.send_signal(signal.SIGCONT)
        terminal.shows(READY, "Ask something")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV])
@pytest.mark.some(1)
def test_the_death_of_the_engine_is_a_sentence_and_the_chat_goes_on(
    tmp_path: Path, slow: list[str], number: signal.Signals
) -> None:
    with Terminal(tmp_path, *slow, size=(120, 50)) as terminal:
        streaming(terminal)
        (worker,) = terminal.workers()
        worker.send_signal(number)
        terminal.shows(number.name, "process ended")
        terminal.press("\x15")  # instead of what the prompt may hold
        terminal.settle(1.0)  # what it said last may be painted last
        kept = terminal.text.count(BROKEN)
        assert kept > 5  # what it said stays
        terminal.press("Again\r")
        # Far more than the old answer had: another is being written, so the models are loaded.
        terminal.until(lambda screen: "Again" in screen and screen.count(BROKEN) > 2 * kept + 5)
        terminal.press(ESCAPE)
        terminal.shows("stopped", DONE)
