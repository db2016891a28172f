"""The terminal is restored however the program ends."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.patience import WAIT_S
from tests.terminal.terminal import QUIT, Terminal, gone, idle, loading, streaming
from tui.app.signals import signal_handlers

MOMENTS = [loading, idle, streaming]
SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT]
SIGNALS += [signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGABRT, signal.SIGXCPU]


@pytest.mark.parametrize("how", [*SIGNALS, QUIT, "\x03\x03", "\x04"], ids=ascii)
@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.__name__)
@pytest.mark.some(7)
def test_a_signal_and_a_key_that_quits_leave_the_terminal_as_it_was(
    tmp_path: Path, slow: list[str], moment: Callable[[Terminal], None], how: signal.Signals | str
) -> None:
    with Terminal(tmp_path, *slow) as terminal:
        moment(terminal)
        workers = terminal.workers()
        if isinstance(how, str):
            terminal.press(how)
        else:
            terminal.process.send_signal(how)
        assert terminal.end() == (0 if isinstance(how, str) else 128 + how)
        assert gone(workers)


@pytest.mark.parametrize("signals", [True, False], ids=["signals", "silence"])
@pytest.mark.parametrize(
    ("command", "moment"),
    [
        *(([], moment) for moment in MOMENTS),
        (["--inline"], lambda terminal: terminal.shows("is ready.")),
        (["ask", "Go on"], Terminal.streams),
    ],
)
def test_the_program_ends_when_its_terminal_is_gone(
    tmp_path: Path,
    slow: list[str],
    command: list[str],
    moment: Callable[[Terminal], object],
    signals: bool,
) -> None:
    """The system sends SIGHUP and then SIGCONT, or nothing, and every write fails."""
    with signal_handlers({signal.SIGHUP: signal.SIG_DFL if signals else signal.SIG_IGN}):
        started = Terminal(tmp_path, *command, *slow, controls=signals)
    with started as terminal:
        moment(terminal)
        workers = terminal.workers()
        os.close(terminal.slave)
        os.close(terminal.master)
        assert terminal.process.wait(WAIT_S) == 128 + signal.SIGHUP
        assert gone(workers)
