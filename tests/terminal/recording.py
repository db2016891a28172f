"""The whole program on a pseudo terminal that records every byte and obeys none."""

import json
import os
import re
import select
import subprocess
import sys
import termios
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import indent
from typing import Any

from tests import ROOT
from tests.hostile_texts import OWN, leaks
from tests.patience import WAIT_S
from tests.terminal.terminal import QUIET, Size, Terminal, shell

DOWN, CONTROL_UP, CONTROL_HOME = "\x1b[6~", "\x1b[1;5A", "\x1b[1;5H"
WIDE = (240, 120)
UNGUARDED = (
    "import tui.app.program\n"
    "tui.app.program.ControlFilter.apply = lambda self, segments, _: segments\n"
)
"""Takes away the last look at each line, so that every widget's own care is seen."""


class Recording(Terminal):
    """A terminal that only listens: what was painted since it was last asked, as text.

    The program runs some code of the test's own first; `options` are the terminal's.
    """

    def __init__(
        self, home: Path, *arguments: str, site: str = UNGUARDED, size: Size = WIDE, **options: Any
    ) -> None:
        self._heard = 0
        super().__init__(home, *arguments, size=size, **options | customised(home, site))

    def quit(self) -> None:
        super().quit()
        assert leaks(self.seen) == []

    @property
    def text(self) -> str:
        """What was painted since `press`, without the sequences that place and colour it."""
        return OWN.sub(" ", self.seen[self._heard :].decode("utf-8", "replace"))

    def read(self, seconds: float = 0.05) -> bool:
        self._stream.feed = lambda data: None  # type: ignore[method-assign]
        return super().read(seconds)

    def go(self, keys: str, *texts: str, quiet: float = QUIET) -> str:
        """Press keys, wait for what they bring up, and until nothing moves any more."""
        self._heard = len(self.seen)
        self.press(keys)
        if texts:
            self.shows(*texts)
        self.settle(quiet)
        return self.text


def customised(home: Path, site: str) -> dict[str, Any]:
    """Return variables that have Python run some code before the program begins."""
    folder = home / "site"
    folder.mkdir(parents=True, exist_ok=True)
    guarded = indent(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{site}", "    ")
    # Python continues without what fails here, unless it is told to end.
    (folder / "sitecustomize.py").write_text(
        f"try:\n{guarded}\nexcept Exception as error:\n    raise SystemExit(repr(error))\n"
    )
    return {"PYTHONPATH": str(folder)}


ALL_OF_THEM = """
import json, os, sys
from tui.__main__ import main
for arguments in json.loads(sys.argv[1]):
    sys.argv, code = ["specchat", *arguments], 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    sys.stdout.flush()
    os.write(1, f"-- ended with {code} --".encode())
"""
ENDED = re.compile(rb"-- ended with (\d+) --")


def run_each(home: Path, commands: Iterable[Sequence[str]]) -> list[tuple[int, bytes]]:
    """Run commands as `run` does, but in one process, which has to start only once."""
    given = [list(arguments) for arguments in commands]
    _, seen = _run(home, ALL_OF_THEM, json.dumps(given))
    *parts, last = ENDED.split(seen)
    assert last == b"", last
    assert len(parts) == 2 * len(given), seen
    return [(int(code), said) for said, code in zip(parts[::2], parts[1::2], strict=True)]


def run(home: Path, *arguments: str, size: Size = WIDE, **variables: str) -> tuple[int, bytes]:
    """Run a command whose output and errors go to a terminal; return its exit code and them.

    Its standard input is empty, so that no app opens.
    """
    return _run(home, "from tui.__main__ import main; main()", *arguments, size=size, **variables)


def _run(
    home: Path, code: str, *arguments: str, size: Size = WIDE, **variables: str
) -> tuple[int, bytes]:
    master, slave = os.openpty()
    termios.tcsetwinsize(slave, size[::-1])
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, cwd=ROOT,
        env=shell(home) | variables,
    )  # fmt: skip
    os.close(slave)
    seen = b""
    try:
        while data := _some(master):
            seen += data
        return process.wait(WAIT_S), seen
    finally:
        os.close(master)
        process.kill()
        process.wait()


def _some(master: int) -> bytes:
    assert select.select([master], [], [], WAIT_S)[0], "it neither speaks nor ends"
    try:
        return os.read(master, 65536)
    except OSError:  # EIO: the other end is closed
        return b""
