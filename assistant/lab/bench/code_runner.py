"""Run code that a model wrote: only with the command that the user names, never by ourselves.

What the code may do is the command's business, so it should start a container or the like.
"""

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from assistant.lab.bench.questions import Question
from models.errors import UsageError

RUN_S = 10.0
"""How long a program may run."""
START_S = 30.0
"""How long the command may take to start it."""
EXAMPLE = "podman run --rm -i --network none python:3 python -"

_FENCE = re.compile(r"^```[^\n]*\n(.*?)(?:^```|\Z)", re.MULTILINE | re.DOTALL)
_BEGUN, _ENDED = b"specchat: begun\n", b"specchat: ended\n"
# The exit status alone would not do: an answer may call sys.exit(0) before it is tested.
# A container outlives the client that we can kill, so the limit of time is set inside as well;
# faulthandler's needs neither the interpreter's lock nor a signal, which process 1 may not get.
_PROGRAM = """\
import faulthandler, os
report = os.dup(1)
silence = os.open(os.devnull, os.O_WRONLY)
os.dup2(silence, 1)
os.dup2(silence, 2)
faulthandler.dump_traceback_later({seconds}, exit=True)
os.write(report, {begun})
exec(compile({code}, "answer.py", "exec"), {{"__name__": "__main__"}})
os.write(report, {ended})
os._exit(0)
"""


def passes(text: str, question: Question, runner: Sequence[str]) -> bool:
    """Say whether the code in an answer passes the question's test; `runner` runs it.

    Raises:
        UsageError: the runner does not run code.
    """
    return run(program(text, question), runner)


def program(text: str, question: Question) -> str:
    """Return the code of an answer and the question's test as one program.

    What lacks the function's signature is taken for the rest of the function.
    """
    fenced = _FENCE.search(text)
    code = fenced[1] if fenced else text
    if not re.search(rf"^\s*def {re.escape(question.entry_point or '')}\b", code, re.MULTILINE):
        code = f"{question.code}{code}"
    elif question.code:
        lines = question.code.splitlines()
        imports = [line for line in lines if line.startswith(("import ", "from "))]
        code = "\n".join([*imports, code])
    return f"{code}\n\n{question.test}\n\ncheck({question.entry_point})\n"


def run(code: str, runner: Sequence[str], seconds: float = RUN_S, start_s: float = START_S) -> bool:
    """Say whether a program finishes without an exception and in time.

    Args:
        code: a whole Python program.
        runner: a command that runs the Python program on its standard input; no shell sees it.
        seconds: how long the program may run.
        start_s: how long the command may take before that.

    Raises:
        UsageError: the command did not even begin the program.
    """
    program = _PROGRAM.format(code=ascii(code), seconds=seconds, begun=_BEGUN, ended=_ENDED)
    said, reason = _output(program.encode(), runner, seconds + start_s)
    if _BEGUN not in said:
        raise UsageError(
            f"{shlex.join(runner)} ran no code: {reason}. --runner needs a command that runs the "
            f"Python program on its standard input, such as '{EXAMPLE}'."
        )
    return _ENDED in said


def _output(program: bytes, runner: Sequence[str], seconds: float) -> tuple[bytes, str]:
    """Return what a command printed, and how it ended."""
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            runner, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
    except (OSError, ValueError) as error:
        return b"", f"it cannot be started ({getattr(error, 'strerror', None) or error})"
    with process:
        try:
            said, complaints = process.communicate(program, seconds)
        except subprocess.TimeoutExpired as error:
            return error.output or b"", f"nothing had started after {seconds:.0f} seconds"
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    lines = complaints.decode("utf-8", "replace").strip().splitlines()
    first = f" ({lines[0][:200].rstrip('.')})" if lines else ""
    return said, f"it ended with exit code {process.returncode}{first}"
