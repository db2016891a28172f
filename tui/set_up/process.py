"""Run a command whose output goes to a file, and hear its lines as they are written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

LOOK_S = 0.2
"""Seconds between two looks at what was written."""
PATIENCE_S = 5.0
"""Seconds in which a command that is stopped may end by itself."""


def start(
    command: Sequence[object], log: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a command; what it starts in turn can be stopped with it."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [*map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )


def run(
    command: Sequence[object],
    log: Path,
    hear: Callable[[str], object] = lambda line: None,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Run a command to its end and return its exit status; an interrupt stops it first."""
    begin = log.stat().st_size if log.exists() else 0
    process = start(command, log, environment)
    try:
        with log.open(errors="replace") as written:
            written.seek(begin)
            ended = False
            while not ended:
                ended = _ends(process, LOOK_S)
                for line in written:
                    hear(line.rstrip())
        return process.returncode
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a command and all that it started."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, number)
            _ends(process, PATIENCE_S)


def works(*command: str) -> bool:
    """Say whether a program is here and does what it is asked for."""
    return found(command[0]) and not subprocess.run(command, capture_output=True).returncode


def found(program: str) -> bool:
    """Say whether a program is on the PATH."""
    return shutil.which(program) is not None


def end_as_interrupted() -> None:
    """Have a closed terminal, or a request to end, stop what runs as Ctrl-C does."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


def _ends(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
