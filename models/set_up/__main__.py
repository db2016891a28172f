"""Set specchat up, as far as it is not yet: `python -m models.set_up chat|llama|native|test`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

from models.set_up import steps
from models.set_up.steps import PULL, StepFailed, packages

PYTHONS = ("python3.13", "python3.12", "python3.11", "python3.14")
"""Pythons to continue with if the one that runs this is too old."""


def main(goal: str) -> None:
    """Run the steps of a goal that are not done yet."""
    steps.environment()
    packages("specchat")
    # Its wheel for macOS cannot be loaded, and llama.cpp uses Apple's GPU without being asked.
    has_second = sys.platform == "linux" and steps.second_engine()
    if goal == "native":
        steps.native(has_second)
    elif goal != "chat" or not has_second or os.environ.get("CMAKE_ARGS"):
        steps.llama_cpp(goal, has_second)
    if goal == "test":
        packages("what the tests need", group="dev")
    if goal == "chat" and subprocess.call(PULL):
        raise StepFailed("The models are not complete. Run the same command again to continue.")


def _newer() -> None:
    """Continue with a newer Python, if there is one."""
    for name in filter(shutil.which, PYTHONS):
        os.execvp(name, [name, "-m", "models.set_up", *sys.argv[1:]])
    raise StepFailed(
        "specchat needs Python 3.11 or newer, and this is "
        f"{sys.version.split()[0]}. If there is one elsewhere: make PYTHON=/path/to/python3.12"
    )


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGHUP):  # a closed terminal stops what runs, too
        signal.signal(number, _interrupt)
    try:
        if sys.version_info < (3, 11):  # noqa: UP036  (any Python may run this)
            _newer()
        main(sys.argv[1])
    except StepFailed as error:
        sys.exit(f"\n{error}")
    except KeyboardInterrupt:
        print("\nStopped. Run the same command again to continue.", file=sys.stderr)
        sys.exit(130)
