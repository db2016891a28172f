"""The files of the project that run in a process and in those that it starts."""

import os
import signal
from pathlib import Path

from tests import ROOT

HOOK = Path(__file__).parent / "tracing"
"""Python imports the `sitecustomize` in here when a process starts."""


class Trace:
    """Trace processes that are started with `environment`.

    Args:
        folder: an empty folder, where each process writes what it runs.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.environment = {
            "PYTHONPATH": f"{HOOK}{os.pathsep}{ROOT}",
            "SPECCHAT_TRACE": str(folder),
            "SPECCHAT_TRACE_ROOT": str(ROOT),
        }

    def begin_again(self) -> None:
        """Forget what ran until now."""
        for written in self._folder.iterdir():
            os.kill(int(written.name), signal.SIGUSR1)

    @property
    def processes(self) -> list[list[str]]:
        """The files that each process ran, in the order in which it first did."""
        return [written.read_text().split() for written in self._folder.iterdir()]

    @property
    def files(self) -> set[str]:
        """All files that ran."""
        return set().union(*self.processes)
