"""The signals that end a program: those that do so by default, except the ones of a crash."""

import signal

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
    """Return those that whoever started the program has not had ignored, as `nohup` does."""
    return [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
