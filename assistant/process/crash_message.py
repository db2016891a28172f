"""The message for the user when the engine's process has ended unexpectedly."""

import re
import signal
from contextlib import suppress

from assistant.process.worker_process import WorkerDied
from assistant.request import AnyJob, EngineArgs
from models import engines, ik
from models.errors import OUT_OF_MEMORY, ModelError
from models.files.disk import write_private
from models.files.places import cache_dir

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
"""Crashes of an engine that another engine may not have."""
ERROR = re.compile(r"Error\b|error:")
MAX_CRASH_LINE = 200
LOG = "engine.log"
"""The file in the cache folder with the output of the last process that ended."""


def crash_message(job: AnyJob, death: WorkerDied, loaded: EngineArgs | None) -> str:
    """Return what happened, and what to do, as sentences for the user.

    The models of the job in progress may be the cause, or if it names none, those that are loaded.
    """
    cause = death.reason or _cause(death.status, death.output_tail)
    setup = job if isinstance(job, EngineArgs) else getattr(job, "setup", None)
    doing = ""
    if setup:
        names = " and ".join(path.name for path in (setup.target, setup.draft) if path)
        doing = f" while it {'loaded' if setup is job else 'measured'} {names}"
    advice = _advice(setup, death)
    if death.status in CRASHES:
        advice = _without_native_build(setup or loaded) or f"{advice}{engines.llama_hint()}"
    return f"The engine's process ended{doing} ({cause}). {advice}{_write_log(death.output_tail)}"


def _write_log(output: str) -> str:
    """Write a process's output to the log; return the sentence that names the log."""
    if not output.strip():
        return ""
    with suppress(OSError):
        write_private(path := cache_dir() / LOG, output.encode("utf-8", "replace"))
        return f" Its own words are in {path}."
    return ""


def _without_native_build(setup: EngineArgs | None) -> str:
    """Use ik_llama.cpp's wheel again if the compiled library may be to blame; return a note."""
    from assistant.engine.engine_choice import choose_engine  # imported late: crashes are rare

    with suppress(ModelError, OSError):
        if setup and ik.compiled_library() and choose_engine(setup).engine == "ik":
            ik.USED.unlink()
            return "The build of `make native` is not used any more: it may be to blame. Ask again."
    return ""


def _cause(exit_status: int | None, output_tail: str) -> str:
    if exit_status is not None and exit_status < 0:
        number = -exit_status
        known = number in set(signal.Signals)
        name = signal.Signals(number).name if known else f"signal {number}"
        parts = [name, CAUSES.get(signal.Signals(number), "") if known else ""]
    else:
        parts = [f"exit code {exit_status}", _error_line(output_tail)]
    parts.append("memory ran out" if OUT_OF_MEMORY.search(output_tail) else "")
    return ": ".join(part for part in parts if part)


def _error_line(output: str) -> str:
    """Return Python's error message, without folders; a library's is only logged."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    line = next((line for line in reversed(lines) if ERROR.search(line)), "")
    return re.sub(r"/\S*/", "", line)[:MAX_CRASH_LINE]


def _advice(setup: EngineArgs | None, death: WorkerDied) -> str:
    too_large = death.status == -signal.SIGKILL or OUT_OF_MEMORY.search(death.output_tail)
    if death.status in (-signal.SIGILL, 1) and not too_large:
        return "Run `specchat doctor`."
    if setup is None:
        return "Ask again: the models are then loaded."
    if too_large:
        return "Try a smaller model or a smaller context (--ctx)."
    return "Check the file with `specchat models check`, or choose another model."
