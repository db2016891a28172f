"""Code that a model wrote can do no harm; where that cannot be, it is known."""

import ctypes
import os
import platform
import sys
import time

import pytest

from assistant.lab.bench.sandbox import runner
from assistant.lab.bench.sandbox.runner import leak, run


def can_confine() -> bool:
    """Whether the system has what it takes, whatever is made of it."""
    if sys.platform != "linux":
        return sys.platform == "darwin"
    landlock = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1) >= 1
    return landlock and platform.machine() in ("x86_64", "aarch64")


confined = pytest.mark.skipif(not can_confine(), reason="this system cannot confine code")
ESCAPES = (
    "reach the network",
    "write outside its folder",
    "start programs",
    "stop other programs",
)


def test_code_that_comes_to_its_end_passes_and_any_other_does_not():
    assert run("import json, math\nassert math.sqrt(4) == json.loads('2')").passed
    assert "AssertionError" in run("assert 1 == 2").reason
    assert "SyntaxError" in run("def").reason
    assert not run("import sys; sys.exit(0)").passed
    assert not run("import os; os._exit(0)").passed


@confined
def test_what_gets_out_of_an_open_process_does_not_get_out_of_the_sandbox():
    """The probe has the power to notice: unconfined, it finds every escape there is."""
    assert leak() is None
    open_ = leak(confines=False) or ""
    assert [escape for escape in ESCAPES if escape in open_ or "outside" in open_]


@confined
@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.socket(socket.AF_INET6)",
        "import socket; socket.socket(socket.AF_UNIX)",
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9')",
        "import os; os.posix_spawn('/bin/true', ['true'], {})",
        "import os; os.execv('/bin/true', ['true'])",
        "import multiprocessing as m; p = m.Process(target=print); p.start(); p.join()",
        "import os; os.kill(os.getppid(), 0)",
        "import os; os.kill(-1, 0)",
        "open('/etc/passwd').read()",
        "import os; os.listdir('/')",
        "import os; os.symlink('/etc', 'etc'); open('etc/passwd').read()",
        "open('/proc/self/environ').read()",
    ],
)
def test_no_connection_no_process_no_file_of_anybody(code):
    found = run(code)
    assert not found.passed
    refused = ("Operation not permitted", "Permission denied")
    assert any(words in found.reason for words in refused), found


@confined
def test_it_cannot_write_outside_its_folder(tmp_path):
    outside = tmp_path / "escaped"
    for code in (f"open({str(outside)!r}, 'w')", f"import os; os.mkdir({str(outside)!r})",
                 f"import os; os.rename('answer.py', {str(outside)!r})",
                 f"import os; os.link('answer.py', {str(outside)!r})"):  # fmt: skip
        assert not run(code).passed
        assert not outside.exists()
    (tmp_path / "mine").write_text("mine")
    assert not run(f"import os; os.truncate({str(tmp_path / 'mine')!r}, 0)").passed
    assert not run(f"import os; os.unlink({str(tmp_path / 'mine')!r})").passed
    assert (tmp_path / "mine").read_text() == "mine"
    assert run("open('own', 'w').write('x'); assert open('own').read() == 'x'").passed


@pytest.mark.parametrize("code", ["while True: pass", "import time; time.sleep(60)"])
def test_it_cannot_run_longer_than_told(code):
    started = time.monotonic()
    found = run(code, seconds=0.5)
    assert (found.passed, found.reason) == (False, "it ran for more than 0 seconds")
    assert time.monotonic() - started < 30


def test_it_cannot_take_all_memory_or_fill_the_disk():
    assert "MemoryError" in run("x = bytearray(4 << 30)").reason
    filling = "f = open('a', 'wb')\nfor i in range(9): f.write(bytes(1 << 20))\nf.close()"
    assert not run(filling).passed


def test_it_knows_nothing_of_whoever_started_it(monkeypatch):
    monkeypatch.setenv("SECRET", "hidden")
    assert run("import os; assert 'SECRET' not in os.environ").passed
    assert run("import sys; assert sys.stdin.read() == ''").passed
    assert run("import sys; assert not [p for p in sys.path if 'site-packages' in p]").passed


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run("open('x', 'w'); import os; os.mkdir('y'); os.chmod('y', 0o500)")
    assert os.listdir(tmp_path) == []


def test_without_any_confinement_that_is_known(monkeypatch):
    leak.cache_clear()
    monkeypatch.setattr(runner.sys, "platform", "sunos5")
    assert leak() == "nothing here confines it"
    leak.cache_clear()
