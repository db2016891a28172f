"""Start code in a process of its own, with its own empty folder, and end it in time."""

import os
import secrets
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

CONFINED = Path(__file__).with_name("confined.py")
SECONDS = 5.0
"""How long code may run, by the clock and by the processor."""
MEMORY = 1 << 30
PROBE = """\
import os, socket, subprocess
escapes = []
def tries(what, act):
    try:
        act()
    except (OSError, subprocess.SubprocessError):
        return
    escapes.append(what)
def listens():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
def sends():  # to nobody, but a datagram does not know
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"x", ("127.0.0.1", 9))
def writes():
    with open({outside!r}, "w") as file:
        file.write("x")
def starts():
    subprocess.run(["/bin/true"], check=True)
def forks():
    if os.fork() == 0:
        os._exit(0)
tries("reach the network", listens)
tries("reach the network", sends)
tries("write outside its folder", writes)
tries("start programs", starts)
tries("start programs", forks)
tries("stop other programs", lambda: os.kill({parent}, 0))
assert not escapes, "it could " + " and ".join(dict.fromkeys(escapes))
"""
_MAC_PROFILE = (
    "(version 1)(allow default)(deny network*)(deny process-fork)(deny signal (target others))"
    '(deny file-write*)(allow file-write* (subpath "{folder}"))(allow file-write-data '
    '(literal "/dev/null"))'
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    passed: bool
    reason: str = ""  # why not


def run(code: str, confines: bool = True, seconds: float = SECONDS) -> Outcome:
    """Run code to its end, which is to pass; whatever it says is thrown away.

    Args:
        code: a whole Python program.
        confines: False: limits and a folder of its own, but no more than that.
        seconds: after which it is killed.
    """
    with TemporaryDirectory(prefix="specchat-code-") as name:
        folder = Path(name).resolve()
        (folder / "answer.py").write_text(code, "utf-8", "replace")
        word = secrets.token_hex(16)
        try:
            status, said = _finish(_command(folder, word, seconds, confines), folder, seconds)
        except OSError as error:
            return Outcome(False, f"it could not be started: {error}")
        except subprocess.TimeoutExpired:
            return Outcome(False, f"it ran for more than {seconds:.0f} seconds")
        with suppress(OSError):
            if (folder / "verdict").read_text("utf-8", "replace") == word:
                return Outcome(True)
    return Outcome(False, said or f"it ended with status {status}")


@cache
def leak(confines: bool = True) -> str | None:
    """Return what confined code could do on this system and must not, or None.

    It is found out by trying: a program that tries to get out has to fail at all of it.
    """
    if sys.platform not in ("linux", "darwin"):
        return "nothing here confines it"
    with TemporaryDirectory(prefix="specchat-probe-") as name:
        outside = Path(name).resolve() / "escaped"
        probe = PROBE.format(outside=str(outside), parent=os.getpid())
        found = run(probe, confines)
        if outside.exists():
            return "it could write outside its folder"
    return None if found.passed else found.reason


def _command(folder: Path, word: str, seconds: float, confines: bool) -> list[str]:
    python = [sys.executable, "-I", "-S", "-B", str(CONFINED)]
    limits = [str(folder), "answer.py", word, str(int(seconds) + 1), str(MEMORY)]
    outside: list[str] = []
    if confines and sys.platform == "darwin":
        outside = ["/usr/bin/sandbox-exec", "-p", _MAC_PROFILE.format(folder=folder)]
    return [*outside, *python, *limits, str(int(confines))]


def _finish(command: list[str], folder: Path, seconds: float) -> tuple[int, str]:
    """Return the exit status and the last line of the error."""
    complaints = folder / "stderr"
    with complaints.open("wb") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "TMPDIR": str(folder), "HOME": str(folder)},
            start_new_session=True,
        )
        try:
            status = process.wait(seconds)
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    lines = complaints.read_text("utf-8", "replace").strip().splitlines()
    return status, lines[-1][:200] if lines else ""
