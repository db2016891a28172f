"""Another Python process of specchat's own, which never outlives this one."""

import ctypes
import os
import resource
import runpy
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from models.errors import SpecchatError
from models.progress import CancelFlag, raise_if_cancelled

ROOT = str(Path(__file__).parents[1])
PR_SET_PDEATHSIG = 1
POLL_S = 0.05  # seconds between two checks whether a process is to be stopped
# System calls, the same on every processor.
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_VERSION = 1  # a flag: create nothing, return the version
_NETWORK_SINCE = 4
_BIND_AND_CONNECT_TCP = 3
_SET_NO_NEW_PRIVS = 38


def command(module: str, *arguments: object) -> list[str]:
    """Return the command that runs a module in a process which dies with this one.

    Where the module raises an error that is meant for the user, its text is the last line.
    """
    this, given = "models.child_process", map(str, (os.getpid(), module, *arguments))
    return [sys.executable, "-P", "-m", this, *given]


def environment() -> dict[str, str]:
    """Return the environment of such a process."""
    # It uses this process's import path: the current folder may have one named models.
    path = os.pathsep.join(entry or ROOT for entry in sys.path)
    # Threads for numpy's products of matrices, of which there are none, take a while to start.
    return {"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": path}


def run(
    module: str, *arguments: object, cancel: CancelFlag | None = None
) -> tuple[bytes, str | None]:
    """Run a module to its end, or until `cancel` is raised, detached from the terminal. Return its
    output, and the last line of its error: None if it succeeded, empty if it ended in silence.
    """
    with subprocess.Popen(
        command(module, *arguments),
        env=environment(),
        start_new_session=True,  # it ignores the terminal's signals
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            while True:
                raise_if_cancelled(cancel)
                with suppress(subprocess.TimeoutExpired):
                    output, errors = process.communicate(timeout=POLL_S)
                    break
        finally:
            process.kill()
    if not process.returncode:
        return output, None
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return output, lines[-1] if process.returncode == 1 and lines else ""


def _die_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(0)


def confine() -> None:
    """Have this process leave no core file, and open no connection."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # it would hold the conversation
    forbid_connections()  # before there is a second thread, which it would not bind


def forbid_connections() -> bool:
    """Have the system refuse TCP to this thread and all that it starts, for good: even if a model
    file takes over its native code. Return whether it does; not before Linux 6.7.

    Landlock restricts no files here: another model may be loaded from anywhere later, and the
    drivers of graphics cards keep caches in places of their own.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    if libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION) < _NETWORK_SINCE:
        return False
    rules = (ctypes.c_uint64 * 2)(0, _BIND_AND_CONNECT_TCP)  # restricted of files, and of TCP
    size = ctypes.c_size_t(ctypes.sizeof(rules))
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(rules), size, 0)
    if ruleset < 0:
        return False
    try:
        libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return bool(libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


if __name__ == "__main__":
    _die_with(int(sys.argv.pop(1)))
    try:
        runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
    except SpecchatError as error:
        sys.exit(str(error))
