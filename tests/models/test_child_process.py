"""`child_process`: the environment of processes that this one starts."""

import sys
from pathlib import Path

import pytest

from models import child_process

THREADS = "import numpy, os\nprint(len(os.listdir('/proc/self/task')))\n"


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_numpy_starts_no_threads_in_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "counting.py").write_text(THREADS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert child_process.run("counting") == (b"1\n", None)
