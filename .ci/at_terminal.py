#!/usr/bin/env python3
"""What continuous integration runs: the README's test command, typed at a terminal.

The terminal is a pseudo-terminal, and the shell in it has everything set against the tests. What
is fetched and compiled for them is made ready before, in the caller's own environment with its
caches. The output is passed through, and so is the exit status.
"""

import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

LINES, COLUMNS = 50, 150
NOWHERE = "/dev/null/nowhere"
FOLDERS = ("CACHE_HOME", "CONFIG_HOME", "DATA_HOME", "STATE_HOME", "RUNTIME_DIR")
HOSTILE = {
    **{f"XDG_{name}": NOWHERE for name in FOLDERS},
    **dict.fromkeys(("PAGER", "EDITOR", "VISUAL", "BROWSER"), "false"),
    **dict.fromkeys(("HOME", "SPECCHAT_HOME", "TEXTUAL_LOG"), NOWHERE),
    "COLUMNS": str(COLUMNS),  # of now; the programs under test have terminals of other sizes
    "FORCE_COLOR": "1",
    "LANG": "C",
    "LC_ALL": "C",
    "LINES": str(LINES),
    "NO_COLOR": "1",
    "PYTHONPATH": f"{NOWHERE}:nonsense",
    "PYTHONWARNINGS": "error",
    "SPECCHAT_ENGINE": "nonsense",
    "SPECCHAT_MODE": "nonsense",
    "SPECCHAT_OFFLINE": "1",
    "SPECCHAT_TARGET": f"{NOWHERE}.gguf",
    "TERM": "dumb",
    "TEXTUAL_DRIVER": "nonsense",
    "TEXTUAL_PRESS": "q",
    "TEXTUAL_THEME": "nonsense",
    "TZ": "Pacific/Kiritimati",
}


def at_terminal(command: list[str]) -> int:
    """Run a command in a terminal of its own that nobody types into; return its exit status."""
    pid, master = pty.fork()
    if not pid:
        termios.tcsetwinsize(0, (LINES, COLUMNS))
        modes = termios.tcgetattr(0)
        modes[1] &= ~termios.OPOST  # a log has no carriage returns
        termios.tcsetattr(0, termios.TCSANOW, modes)
        os.umask(0o077)
        os.execvpe(command[0], command, {**os.environ, **HOSTILE})
    while said := _read(master):
        os.write(1, said)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # EIO: the command has ended, and with it the terminal's session
        return b""


if __name__ == "__main__":
    os.chdir(Path(__file__).resolve().parents[1])
    ready = subprocess.run(["make", "ready-to-test"], stdin=subprocess.DEVNULL, check=False)
    status = ready.returncode or at_terminal(["make", "test"])
    sys.exit(status if status >= 0 else 128 - status)
