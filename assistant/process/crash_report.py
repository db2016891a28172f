"""What to tell a person when the process that computes has come to an end."""

import re
import signal

from assistant.request import Gauge, Job, Lockstep, Prove, Race, Setup, Tune

CAUSES = {
    signal.SIGABRT: "llama.cpp gave up",
    signal.SIGSEGV: "llama.cpp crashed",
    signal.SIGBUS: "a part of a file or of memory was gone",
    signal.SIGFPE: "llama.cpp divided by zero",
    signal.SIGILL: "llama.cpp was built for another processor",
    signal.SIGKILL: "something killed it, perhaps because memory ran out",
    signal.SIGTERM: "something told it to stop",
}
TELLING = re.compile(r"GGML_ASSERT|GGML_ABORT|what\(\):|Error\b|error:")
LONGEST = 200


def obituary(doing: Job | None, status: int | None, last_words: str, reason: str = "") -> str:
    """Return what happened, what is kept and what to do.

    `status` is as `subprocess` gives it; `reason` is why the process was ended on purpose.
    """
    cause = reason or _cause(status, last_words)
    return f"The engine's process ended while {_when(doing)} ({cause}). {_advice(doing, status)}"


def _when(doing: Job | None) -> str:
    match doing:
        case Setup(target, draft):
            names = [path.name for path in (target, draft) if path]
            return f"it loaded {' and '.join(names)}"
        case Race():
            return "it ran the race"
        case Tune() | Gauge():
            return "it measured this machine"
        case Prove():
            return "it compared SpS with ArS"
        case Lockstep():
            return "it measured answers"
    return "it answered"


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
    """Return the line that names the trouble, without the folders of whoever built the library."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    telling = [line for line in lines if TELLING.search(line)]
    line = telling[-1] if telling else ""
    return re.sub(r"/\S*/", "", line)[:LONGEST]


def _advice(doing: Job | None, status: int | None) -> str:
    if status in (-signal.SIGILL, 1):
        return "Run `specchat doctor`."
    if isinstance(doing, Lockstep):
        return "What was measured so far is kept."
    if not isinstance(doing, Setup | Tune | Prove):
        return "What was said so far is kept; ask again, and the models are loaded anew."
    if status == -signal.SIGKILL:
        return "Try a smaller model or a smaller context (--ctx)."
    return "Check the file with `specchat models check`, or choose another model."
