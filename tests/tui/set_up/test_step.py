"""A step's command is heard while it runs, stopped with all that it started, and explained."""

import sys
from pathlib import Path
from time import sleep

import psutil
import pytest

from tests.patience import WAIT_S
from tui.set_up import step
from tui.set_up.step import SetupStep, StepFailed

SLEEP = "import time; time.sleep(600)"
PARENT = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEP!r}]); {SLEEP}"


@pytest.fixture(autouse=True)
def venv(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setattr(step, "VENV", tmp_path)
    monkeypatch.setattr(step, "LOG", tmp_path / "log")
    return tmp_path


def test_lines_are_heard_while_the_command_runs_and_the_last_are_shown_if_it_fails(venv):
    """It ends only when its first line was heard."""
    heard, gate = [], venv / "gate"
    code = f"""
import pathlib, os, time
print("first", flush=True)
pathlib.Path(os.environ["TMPDIR"], "left").touch()
while not pathlib.Path({str(gate)!r}).exists():
    time.sleep(0.01)
print(*range(100), sep="\\n")
raise SystemExit(3)
"""

    def hear(line):
        heard.append(line)
        gate.touch()

    (venv / "log").write_text("of another command\n")
    with pytest.raises(StepFailed) as failed:
        SetupStep("Counting").run([sys.executable, "-c", code], hear)
    said = ["first", *map(str, range(100))]
    assert heard == said
    assert (venv / "log").read_text() == "\n".join(["of another command", *said, ""])
    assert str(failed.value).startswith("80\n")
    assert "Counting failed" in str(failed.value)
    assert sorted(path.name for path in venv.iterdir()) == ["gate", "log"]


def test_an_interrupt_ends_all_that_was_started(venv):
    code = f"print(1, flush=True)\n{PARENT}"
    family = []

    def interrupt(line):
        (parent,) = psutil.Process().children()
        while not (children := parent.children()):
            sleep(0.01)
        family.extend([parent, *children])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SetupStep("Waiting").run([sys.executable, "-c", code], interrupt)
    assert len(family) == 2
    assert not psutil.wait_procs(family, WAIT_S)[1]
