"""Signals that end the app, also when the terminal itself is gone."""

import asyncio
import errno
import os
import signal
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from types import FrameType

from textual.driver import Driver

from tui.app.textual_private import holds_terminal
from tui.ending_signals import ending

GRACE_S = 5.0
"""Seconds after which an app without a terminal is ended the hard way."""


@contextmanager
def signals_leave(leave: Callable[[int], None]) -> Iterator[None]:
    """Call `leave` in the running event loop with the number of a signal that ends the app."""
    loop = asyncio.get_running_loop()

    def handle(number: int, _: FrameType | None) -> None:
        if _terminal_is_gone():
            _do_without_terminal(128 + number)
        loop.call_soon_threadsafe(leave, number)

    numbers = {*ending(), signal.SIGINT}  # which asyncio handles until then
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def starts_over(driver: Driver | None) -> None:
    """Have an app that was stopped from outside release the terminal before it takes it again.

    Textual takes it whenever it is continued. After SIGSTOP, of which no program is told, that
    would be twice, and what it would restore in the end is its own state.
    """
    resume = signal.getsignal(signal.SIGCONT)
    if driver is None or not callable(resume):
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if holds_terminal(driver):
            driver.suspend_application_mode()
        resume(number, frame)

    signal.signal(signal.SIGCONT, handle)


def hangs_up(error: BaseException) -> bool:
    """Say whether an error is that of a terminal that has gone, and then do as its signal would.

    A thread may write to the terminal in the moment before the signal comes.
    """
    gone = isinstance(error, OSError) and error.errno == errno.EIO and _terminal_is_gone()
    if gone:
        os.kill(os.getpid(), signal.SIGHUP)
    return gone


def _terminal_is_gone() -> bool:
    try:
        termios.tcgetattr(0)
    except termios.error as error:
        is_gone: bool = error.args[0] == errno.EIO  # anything else never was a terminal
        return is_gone
    return False


def _do_without_terminal(code: int) -> None:
    """Let pending writes succeed, and do not wait for them.

    With SIGHUP comes SIGCONT, at which Textual would start over on the dead terminal and then wait
    forever until its first write is through.
    """
    signal.signal(signal.SIGCONT, lambda number, frame: None)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    watchdog = Timer(GRACE_S, os._exit, [code])
    watchdog.daemon = True
    watchdog.start()
