"""`child_process`: the environment of processes that this one starts."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from models import child_process
from tests.patience import WAIT_S

THREADS = "import numpy, os\nprint(len(os.listdir('/proc/self/task')))\n"
STARTING = """
import subprocess
from models import child_process
subprocess.run(child_process.command("sleeper"))
"""
SLEEPER = "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)\n"


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_numpy_starts_no_threads_in_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "counting.py").write_text(THREADS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert child_process.run("counting") == (b"1\n", None)


@pytest.mark.skipif(sys.platform != "linux", reason="only there does the system end them")
def test_they_end_with_the_program_that_started_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    monkeypatch.syspath_prepend(str(tmp_path))
    environment, orphan = child_process.environment(), child_process.command("sleeper")
    orphan[-2] = "0"  # of a program that is gone already
    subprocess.run(orphan, env=environment, timeout=WAIT_S)
    command = [sys.executable, "-c", STARTING]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        sleeper = psutil.Process(int(program.stdout.readline()))
        program.kill()
        assert psutil.wait_procs([sleeper], WAIT_S)[1] == []
