"""The whole program on a pseudo terminal, and its screen."""

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path
from typing import Self

import psutil
import pyte

from tests import ROOT
from tests.patience import WAIT_S
from tui.app.terminal_input import END, START

MODE = re.compile(rb"\x1b\[\?([\d;]+)([hl])")
PUSHED = re.compile(rb"\x1b\[>\d+u")  # kitty's way to say how keys are sent
Size = tuple[int, int]  # columns and lines
USUAL = {b"25": b"h", b"7": b"h"}  # a terminal shows its cursor and wraps lines; all else is off
TINY = ["--threads", "1", "--top-k", "0", "--top-p", "1", "--seed", "1"]
BROKEN = "�"  # what a tiny model says is not a text
READY = "ready"
QUIET = 0.15  # seconds without a sign of life after which the app is at rest
LOOK = 0.02  # seconds between two looks at what the app does
DONE = " tokens · "  # in the line below an answer
ESCAPE, QUIT = "\x1b", "\x11"
F = ("", "\x1bOP", "\x1bOQ", "\x1bOR", "\x1bOS", "\x1b[15~", "\x1b[17~")  # the function keys


def shell(home: Path) -> dict[str, str]:
    """Return the variables of a shell that still tells the size its terminal once had."""
    return {
        **os.environ,
        "COLUMNS": "150",
        "LINES": "50",
        "ESCDELAY": "20",  # ms after which Escape is known to begin no sequence
        "SPECCHAT_HOME": str(home / "home"),
        "HF_HUB_CACHE": str(home / "hub"),
        "SPECCHAT_MODELS": str(home / "models"),
    }


class Terminal:
    """The program in a terminal of its own, its screen and its keys.

    At the end of a `with` block it is quit, unless the test has ended it.
    """

    def __init__(
        self,
        home: Path,
        *arguments: str,
        size: Size = (100, 30),
        cwd: Path = ROOT,
        controls: bool = True,
        **variables: str,
    ) -> None:
        self.master, self.slave = pty.openpty()
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self.seen = b""
        self.resize(*size)
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from tui.__main__ import main; main()", *arguments, *TINY],
            stdin=self.slave, stdout=self.slave, stderr=self.slave,
            cwd=cwd, env=shell(home) | variables, start_new_session=True,
            preexec_fn=lambda: controls and ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        try:
            if error is None and self.process.poll() is None:
                self.quit()
        finally:
            self.close()

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def paste(self, text: str) -> None:
        """Send a text as it is pasted, and take what the program writes meanwhile."""
        data = f"{START}{text}{END}".encode("utf-8", "surrogateescape")
        while data:
            self.read(0)
            if select.select([], [self.master], [], 0.05)[1]:
                data = data[os.write(self.master, data[:1024]) :]

    @property
    def cursor(self) -> tuple[int, int]:
        """The column and the line of the cursor."""
        return self._screen.cursor.x, self._screen.cursor.y

    def resize(self, columns: int, lines: int) -> None:
        termios.tcsetwinsize(self.slave, (lines, columns))
        self._screen.resize(lines, columns)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display)

    def read(self, seconds: float = 0.05) -> bool:
        """Take what the program writes; say whether it did."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        data = os.read(self.master, 65536)
        self.seen += data
        self._stream.feed(data)
        return True

    def until(self, condition: Callable[[str], object]) -> str:
        """Read until the screen fulfils a condition; return it."""
        deadline = time.monotonic() + WAIT_S
        while not condition(self.text):
            assert time.monotonic() < deadline, self.text
            assert self.process.poll() is None, self.text
            self.read()
        return self.text

    def shows(self, *texts: str) -> str:
        return self.until(lambda screen: all(text in screen for text in texts))

    def streams(self) -> str:
        """Wait until some of an answer is on the screen."""
        return self.until(lambda screen: screen.count(BROKEN) > 5)

    def settle(self, quiet: float = QUIET) -> None:
        """Wait until the app has nothing to write, nor to do, for so many seconds.

        On a busy machine one that says nothing may only wait for its turn.
        """
        deadline, calm = time.monotonic() + WAIT_S, time.monotonic() + quiet
        while time.monotonic() < calm:
            if self.read(LOOK) or self._works():
                calm = time.monotonic() + quiet
            assert time.monotonic() < deadline, "it never comes to rest"

    def _works(self) -> bool:
        """Whether the app's own threads compute, or would if a core were free."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/stat")
        return any(state(thread) in "RDt" for thread in threads)

    def workers(self) -> list[psutil.Process]:
        """The processes that compute for this program."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def end(self) -> int:
        """Wait until the program is gone; the terminal must be as it was."""
        deadline = time.monotonic() + WAIT_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.text
            self.read()
        while self.read():
            pass
        assert self.modes() == USUAL | dict.fromkeys(self.modes().keys() - USUAL, b"l")
        assert len(PUSHED.findall(self.seen)) == self.seen.count(b"\x1b[<u")
        local = termios.tcgetattr(self.slave)[3]
        assert local & termios.ECHO
        assert local & termios.ICANON
        assert local & termios.ISIG
        return self.process.returncode

    def quit(self) -> None:
        """Press the key that ends the program, which frees the models."""
        workers = self.workers()
        self.press(QUIT)
        assert self.end() == 0, self.text[-2000:]
        assert gone(workers)

    def modes(self) -> dict[bytes, bytes]:
        """What every mode was set to last."""
        found = MODE.findall(self.seen)
        return USUAL | {mode: state for modes, state in found for mode in modes.split(b";")}

    def close(self) -> None:
        if self.process.poll() is None:
            workers = self.workers()
            self.process.kill()  # first, or it may still hear of their end
            for worker in workers:
                with suppress(psutil.NoSuchProcess):
                    worker.kill()
        self.process.wait(WAIT_S)
        for end in (self.master, self.slave):
            with suppress(OSError):  # the test may have done so
                os.close(end)


def gone(processes: list[psutil.Process]) -> bool:
    """Whether all of these processes have ended, soon."""
    _, alive = psutil.wait_procs(processes, timeout=WAIT_S)
    return not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


def state(thread: Path) -> str:
    """Return what a thread does, as the kernel has it: S sleeps.

    R runs or waits for a core, D for a disk, t for strace to look at what it asks for.
    """
    try:
        return thread.read_text().rpartition(") ")[2][0]
    except OSError:  # it has ended
        return "X"


def loading(terminal: Terminal) -> None:
    """Wait for the screen alone."""
    terminal.shows("something. @ adds a file")  # the cursor may stand on the first letter


def idle(terminal: Terminal) -> None:
    """Wait for the models."""
    terminal.shows(READY)


def streaming(terminal: Terminal, question: str = "Go on") -> None:
    """Wait until an answer is under way."""
    idle(terminal)
    terminal.press(f"{question}\r")
    terminal.streams()
