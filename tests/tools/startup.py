"""How long until the first frame: `python -m tests.tools.startup [ROUNDS]`.

Each round starts, one after another and in a terminal of its own, the bare interpreter, the
smallest Textual app and the chat. Times are from exec to the first visible character and to the
prompt; the ratio is of the time the processors spent, which a busy machine changes least.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path
from statistics import median

from tests import ROOT

ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[()][0-9A-Z]|[=>78])|[\x00-\x20]")
PATIENCE = 30.0
MARK = b"sk something"  # the cursor is on the first letter

BARE = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("Ask something")
Bare().run()
"""
PROGRAMS = {
    "interpreter": ["-c", "print('Ask something')"],
    "bare Textual app": ["-c", BARE],
    "specchat": ["-c", "from tui.__main__ import main; main()", "--target", "no.gguf"],
}


def frames(arguments: list[str], home: Path) -> tuple[float, float, float]:
    """Return the seconds to the first visible character, to the prompt, and of computing."""
    start = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home)
        os.environ.update(TERM="xterm-256color", SPECCHAT_HOME=str(home), PYTHONPATH=str(ROOT))
        os.environ.update(HF_HUB_CACHE=str(home / "hub"), SPECCHAT_MODELS=str(home / "models"))
        os.execv(sys.executable, [sys.executable, *arguments])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    try:
        first, prompt = _watch(terminal, start)
    finally:
        os.kill(child, signal.SIGKILL)
        used = os.wait4(child, 0)[2]
        os.close(terminal)
    return first, prompt, used.ru_utime + used.ru_stime


def _watch(terminal: int, start: float) -> tuple[float, float]:
    said, first = b"", 0.0
    while time.perf_counter() - start < PATIENCE:
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            said += os.read(terminal, 65536)
        except OSError:  # the program has ended
            break
        visible = ESCAPES.sub(b"", said)
        if visible and not first:
            first = time.perf_counter() - start
        if MARK.replace(b" ", b"") in visible:
            return first, time.perf_counter() - start
    sys.exit(f"No prompt came. The end of what was said: {said[-2000:].decode(errors='replace')}")


def measure(rounds: int) -> None:
    """Print a line for each program."""
    with tempfile.TemporaryDirectory() as home:
        Path(home, "no.gguf").write_bytes(b"GGUF")  # not loaded, and none is offered instead
        for arguments in PROGRAMS.values():  # what is compiled and cached once
            frames(arguments, Path(home))
        taken = [
            {name: frames(arguments, Path(home)) for name, arguments in PROGRAMS.items()}
            for _ in range(rounds)
        ]
    for name in PROGRAMS:
        first, prompt, used = (median(turn[name][i] for turn in taken) for i in range(3))
        ratio = median(turn[name][2] / turn["bare Textual app"][2] for turn in taken)
        print(
            f"{name:17} first {first:.2f} s, prompt {prompt:.2f} s, computing {used:.2f} s, "
            f"{ratio:.2f} of bare Textual"
        )


if __name__ == "__main__":
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
