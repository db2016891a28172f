"""One step of the set-up: its commands run into a log, and one line says how far it is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic

VENV = Path(__file__).parents[2] / ".venv"
LOG = VENV / "setup.log"
LINE_EVERY_S = 15.0
"""Seconds between two lines of a step where a line cannot be rewritten."""
LAST_LINES = 20
"""Lines of a command's output that are shown when it fails."""
Hear = Callable[[str], object]


class StepFailed(Exception):
    """A step cannot be done; the text says why, and what to do."""


class SetupStep:
    """One line on a terminal, rewritten as the step proceeds; elsewhere a line now and then."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._begun = self._said = monotonic()
        self._write(f"{title} ...")

    def tell(self, how_far: str) -> None:
        """Say how far it is."""
        if sys.stdout.isatty() or monotonic() - self._said > LINE_EVERY_S:
            self._write(f"{self._title}: {how_far}")

    def end(self, result: str = "done") -> None:
        """Say what came of it, and how long it took."""
        self._write(f"{self._title}: {result} ({monotonic() - self._begun:.0f} s)")
        if sys.stdout.isatty():
            print()

    def run(
        self,
        command: Sequence[object],
        hear: Hear = lambda line: None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Run a command.

        Raises:
            StepFailed: it ends with an error.
        """
        if said := self.attempt(command, hear, variables):
            raise self.failure(said)

    def attempt(
        self,
        command: Sequence[object],
        hear: Hear = lambda line: None,
        variables: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Run a command, and return the lines that it wrote if it failed, else none.

        What it leaves in its folder for temporary files is removed. An interrupt ends it with all
        that it has started.
        """
        said: list[str] = []
        scratch = VENV / "scratch"
        scratch.mkdir(exist_ok=True)
        try:
            with LOG.open("a", encoding="utf-8") as log, subprocess.Popen(
                [*map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                env={**os.environ, "TMPDIR": str(scratch), **(variables or {})},
                start_new_session=True,
            ) as process:  # fmt: skip
                try:
                    for line in process.stdout or ():
                        log.write(line)
                        said.append(line.rstrip())
                        hear(said[-1])
                except BaseException:
                    os.killpg(process.pid, signal.SIGTERM)
                    raise
            return (said or [""]) if process.returncode else []
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def failure(self, said: Sequence[str]) -> StepFailed:
        """Return the error of a command that wrote these lines."""
        last = "\n".join(said[-LAST_LINES:])
        sentence = f"{self._title} failed; {LOG} has the whole output."
        return StepFailed(f"{last}\n\n{sentence} Run the same command again to continue.")

    def _write(self, line: str) -> None:
        self._said = monotonic()
        if sys.stdout.isatty():
            width = os.get_terminal_size(sys.stdout.fileno()).columns or 80
            print(f"\r\x1b[2K{line[: width - 1]}", end="", flush=True)
        else:
            print(line, flush=True)


def works(*command: object) -> bool:
    """Say whether a program is here and does what it is asked for."""
    words = [*map(str, command)]
    found = shutil.which(words[0]) is not None
    return found and not subprocess.run(words, capture_output=True, check=False).returncode
