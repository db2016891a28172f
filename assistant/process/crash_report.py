"""What to tell a user when the process that computes has ended."""

import re
import signal

from assistant.request import SAID_IS_KEPT, AnyJob
from models import engines

CAUSES = {
    signal.SIGABRT: "llama.cpp gave up",
    signal.SIGSEGV: "llama.cpp crashed",
    signal.SIGBUS: "part of a file or of memory disappeared",
    signal.SIGFPE: "llama.cpp divided by zero",
    signal.SIGILL: "llama.cpp was built for another processor",
    signal.SIGKILL: "something killed it, perhaps because memory ran out",
    signal.SIGTERM: "something told it to stop",
}
CRASHES = (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGILL)
"""What an engine dies of that another one may do."""
TELLING = re.compile(r"GGML_ASSERT|GGML_ABORT|what\(\):|Error\b|error:")
MAX_CRASH_LINE = 200


def obituary(doing: AnyJob | None, status: int | None, last_words: str, reason: str = "") -> str:
    """Return what happened, what is kept and what to do.

    `status` is as `subprocess` gives it; `reason` is why the process was ended on purpose.
    """
    cause = reason or _cause(status, last_words)
    what = doing.doing if doing else "answered"
    other = engines.without_llama() if status in CRASHES else ""
    return f"The engine's process ended while it {what} ({cause}). {_advice(doing, status)}{other}"


def _cause(status: int | None, last_words: str) -> str:
    if status is not None and status < 0:
        number = -status
        known = number in set(signal.Signals)
        name = signal.Signals(number).name if known else f"signal {number}"
        parts = [name, CAUSES.get(signal.Signals(number), "") if known else ""]
    else:
        parts = [f"exit code {status}"]
    parts.append(_telling_line(last_words))
    return ": ".join(part for part in parts if part)


def _telling_line(words: str) -> str:
    """Return the line that names the fault, without the folders of its build machine."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    telling = [line for line in lines if TELLING.search(line)]
    line = telling[-1] if telling else ""
    return re.sub(r"/\S*/", "", line)[:MAX_CRASH_LINE]


def _advice(doing: AnyJob | None, status: int | None) -> str:
    if status in (-signal.SIGILL, 1):
        return "Run `specchat doctor`."
    if kept := doing.kept if doing else SAID_IS_KEPT:
        return kept
    if status == -signal.SIGKILL:
        return "Try a smaller model or a smaller context (--ctx)."
    return "Check the file with `specchat models check`, or choose another model."
