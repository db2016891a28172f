"""The signals that end the program, also when its terminal is gone."""

import errno
import os
import signal
import sys
import termios
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Timer
from types import FrameType

SignalHandler = Callable[[int, FrameType | None], object] | signal.Handlers
GRACE_S = 5.0
"""Seconds after which an app without a terminal is killed."""
_CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
_NOT_ENDING = {"SIGKILL", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGCONT", "SIGCHLD"}
_NOT_ENDING |= {"SIGURG", "SIGWINCH", "SIGINFO", "SIGPIPE", "SIGXFSZ"}
_SIGNALS = sorted(signal.valid_signals() - _CRASHES)
ENDING = tuple(number for number in _SIGNALS if getattr(number, "name", "") not in _NOT_ENDING)
"""The signals that end a program by default, except those of a crash."""


def ending_signals() -> list[int]:
    """Return the signals that end this program: `nohup`, for example, has some ignored."""
    usual = signal.SIG_DFL, signal.default_int_handler, leave
    return [number for number in ENDING if signal.getsignal(number) in usual]


def leave(number: int, _: FrameType | None) -> None:
    """Exit, which restores the cursor and frees the models; another such signal changes nothing."""
    for other in ending_signals():
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


@contextmanager
def signals_leave(leave: Callable[[int], None]) -> Iterator[None]:
    """Call `leave` in the running event loop with the number of a signal that ends the app."""
    from asyncio import get_running_loop  # the app has imported it

    loop = get_running_loop()

    def handle(number: int, _: FrameType | None) -> None:
        if _is_gone(0):
            _do_without_terminal(128 + number)
        loop.call_soon_threadsafe(leave, number)

    # asyncio has handled SIGINT until now; without a terminal there is nothing to ignore SIGHUP for
    numbers = {*ending_signals(), signal.SIGINT, signal.SIGHUP}
    with signal_handlers(dict.fromkeys(numbers, handle)):
        yield


@contextmanager
def signal_handlers(handlers: Mapping[int, SignalHandler]) -> Iterator[None]:
    """Handle signals, by their numbers, and restore the earlier handlers at the end."""
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def hang_up_if_gone(stream: int = 0) -> bool:
    """Return whether a stream's terminal is gone; if so, send SIGHUP to ourselves.

    The system sends none where another process leads the session. Exit if SIGHUP is ignored.
    """
    gone = _is_gone(stream)
    if gone and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        sys.exit(128 + signal.SIGHUP)
    if gone:
        os.kill(os.getpid(), signal.SIGHUP)
    return gone


def _is_gone(stream: int) -> bool:
    try:
        termios.tcgetattr(stream)
        if sys.platform == "darwin":  # it still has the settings; elsewhere writes may have to wait
            os.write(stream, b"")
    except (termios.error, OSError) as error:
        return bool(error.args[0] == errno.EIO)  # anything else never was a terminal
    return False


def _do_without_terminal(code: int) -> None:
    """Replace the terminal by /dev/null, so that pending writes succeed.

    SIGCONT follows SIGHUP; at SIGCONT, Textual would write to the dead terminal and wait forever.
    """
    signal.signal(signal.SIGCONT, lambda number, frame: None)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    watchdog = Timer(GRACE_S, os._exit, [code])
    watchdog.daemon = True
    watchdog.start()
