"""What a real terminal is left with, whatever ends the app."""

import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from tui.app import SpecchatApp
from tui.settings import Settings
app = SpecchatApp(Settings(target=sys.argv[1], n_ctx=512, threads=1))
app.run()
sys.exit(app.return_code)
"""
RESTORED = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l", b"\x1b[?2004l")


class Terminal:
    """A program in a pseudo terminal of its own."""

    def __init__(self, target: Path) -> None:
        self.master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(target)],
            stdin=slave, stdout=slave, stderr=slave,
            cwd=ROOT, env={**os.environ, "TERM": "xterm-256color"}, start_new_session=True,
            preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        self.slave, self.seen = slave, b""

    def read(self, until: Callable[[bytes], object]) -> None:
        while not until(self.seen):
            assert select.select([self.master], [], [], 60)[0], self.seen[-2000:]
            self.seen += os.read(self.master, 65536)

    def end(self) -> int:
        self.read(lambda seen: all(code in seen for code in RESTORED))
        code = self.process.wait(60)
        assert termios.tcgetattr(self.slave)[3] & termios.ECHO
        os.close(self.master)
        os.close(self.slave)
        return code


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (lambda terminal: os.write(terminal.master, b"\x11"), 0),  # Ctrl+Q
        (lambda terminal: terminal.process.send_signal(signal.SIGTERM), 128 + signal.SIGTERM),
        (lambda terminal: terminal.process.send_signal(signal.SIGHUP), 128 + signal.SIGHUP),
        (lambda terminal: terminal.process.send_signal(signal.SIGINT), 128 + signal.SIGINT),
    ],
    ids=["ctrl+q", "SIGTERM", "SIGHUP", "SIGINT"],
)
@pytest.mark.parametrize("moment", [b"Ask something", b"ready"], ids=["loading", "idle"])
def test_terminal_is_restored(
    target: Path, moment: bytes, end: Callable[[Terminal], object], code: int
) -> None:
    terminal = Terminal(target)
    terminal.read(lambda seen: moment in seen)
    end(terminal)
    assert terminal.end() == code


@pytest.mark.parametrize("moment", [b"Ask something", b"ready"], ids=["loading", "idle"])
def test_app_ends_when_its_terminal_is_gone(target: Path, moment: bytes) -> None:
    """The system sends SIGHUP and then SIGCONT, and every write fails."""
    terminal = Terminal(target)
    terminal.read(lambda seen: moment in seen)
    os.close(terminal.slave)
    os.close(terminal.master)
    assert terminal.process.wait(60) == 128 + signal.SIGHUP
