"""The signals that end a program: those that do so by default, except the ones of a crash."""

import signal
import sys
from types import FrameType

_CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
_OTHERS = {"SIGKILL", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGCONT", "SIGCHLD", "SIGURG"}
_OTHERS |= {"SIGWINCH", "SIGINFO", "SIGPIPE", "SIGXFSZ"}
ENDING = tuple(
    sorted(
        number
        for number in signal.valid_signals() - _CRASHES
        if getattr(number, "name", "") not in _OTHERS
    )
)


def ending() -> list[int]:
    """Return those that nobody has had ignored, as `nohup` does, or mean something else."""
    usual = signal.SIG_DFL, signal.default_int_handler, leave
    return [number for number in ENDING if signal.getsignal(number) in usual]


def leave(number: int, _: FrameType | None) -> None:
    """End the program, which restores the cursor and frees the models."""
    sys.exit(128 + number)
