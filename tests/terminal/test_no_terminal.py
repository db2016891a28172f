"""Without a terminal at every end nothing is painted."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.patience import WAIT_S


@pytest.mark.parametrize("piped", ["stdin", "stdout", "stderr"])
def test_a_stream_that_is_no_terminal_is_a_matter_of_usage(piped: str, tmp_path: Path) -> None:
    master, slave = pty.openpty()
    streams = {"stdin": slave, "stdout": slave, "stderr": slave, piped: subprocess.PIPE}
    process = subprocess.Popen(
        [sys.executable, "-c", "from tui.__main__ import main; main()"],
        **streams,  # type: ignore[call-overload]
        cwd=ROOT,
        env={**os.environ, "SPECCHAT_HOME": str(tmp_path)},
    )
    out, err = process.communicate(timeout=WAIT_S)
    os.set_blocking(master, False)
    try:
        painted = os.read(master, 65536)
    except BlockingIOError:
        painted = b""
    os.close(master)
    os.close(slave)
    everything = b"".join((out or b"", err or b"", painted))
    assert process.returncode == 2
    assert b"specchat ask" in everything
    assert b"\x1b[?1049h" not in everything
