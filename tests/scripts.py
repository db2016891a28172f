"""Python scripts that run in a process of their own."""

import os
import subprocess
import sys

from tests import ROOT
from tests.patience import WAIT_S


def ended(script: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script to its end; it can import what this project has."""
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
    )


def printed(script: str, *arguments: object, **environment: str) -> str:
    """Run a script that must not fail; return what it prints."""
    done = ended(script, *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout
