"""Commands of the set-up: heard while they run, and stopped with all that they started."""

import sys
from time import sleep

import psutil
import pytest

from tests.patience import WAIT_S
from tui.set_up import process

SLEEP = "import time; time.sleep(600)"
PARENT = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEP!r}]); {SLEEP}"


def test_lines_are_heard_while_the_command_runs(tmp_path):
    """It ends only when its first line was heard."""
    heard, gate = [], tmp_path / "gate"
    code = f"""
import pathlib, time
print("first", flush=True)
while not pathlib.Path({str(gate)!r}).exists():
    time.sleep(0.01)
print("last")
raise SystemExit(3)
"""

    def hear(line):
        heard.append(line)
        gate.touch()

    log = tmp_path / "log"
    log.write_text("of another command\n")
    assert process.run([sys.executable, "-c", code], log, hear) == 3
    assert heard == ["first", "last"]
    assert log.read_text() == "of another command\nfirst\nlast\n"


def test_an_interrupt_ends_all_that_was_started(tmp_path, monkeypatch):
    family = []
    ends = process._ends

    def interrupted(running, seconds):
        parent = psutil.Process(running.pid)
        while not (children := parent.children()):
            sleep(0.01)
        family.extend([parent, *children])
        raise KeyboardInterrupt

    calls = iter([interrupted])
    monkeypatch.setattr(process, "_ends", lambda *arguments: next(calls, ends)(*arguments))
    with pytest.raises(KeyboardInterrupt):
        process.run([sys.executable, "-c", PARENT], tmp_path / "log")
    _, alive = psutil.wait_procs(family, WAIT_S)
    assert len(family) == 2
    assert not alive
