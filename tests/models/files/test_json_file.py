"""`disk`: private files, and JSON files whose concurrent changes are all kept."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from models.files import disk
from models.files.disk import JsonFile
from tests import ROOT

CHANGES = 60
ADDING = f"""
import sys
from pathlib import Path
from models.files.disk import JsonFile
path, name = Path(sys.argv[1]), sys.argv[2]
file = JsonFile(path, dict[str, int])
sys.stdin.read()
for number in range({CHANGES}):
    file.update(lambda known: {{**(known or {{}}), f"{{name}} {{number}}": number}})
"""
HOLDING = """
import sys
from pathlib import Path
from models.files.disk import JsonFile
with JsonFile(Path(sys.argv[1]), dict)._lock():
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a" / "home" / "file.json"


def test_the_changes_of_several_programs_at_once_are_all_there(path: Path) -> None:
    commands = [[sys.executable, "-c", ADDING, str(path), name] for name in "abc"]
    programs = [subprocess.Popen(each, cwd=ROOT, stdin=subprocess.PIPE) for each in commands]
    for program in programs:
        assert program.stdin is not None
        program.stdin.close()  # all are ready: now they begin
    assert [program.wait() for program in programs] == [0, 0, 0]
    content = JsonFile(path, dict[str, int]).read()
    assert content == {f"{name} {number}": number for name in "abc" for number in range(CHANGES)}
    assert {each.name for each in path.parent.iterdir()} == {"file.json", "file.lock"}


def test_a_lock_is_waited_for_while_it_is_held(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = JsonFile(path, list[int])
    command = [sys.executable, "-c", HOLDING, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        monkeypatch.setattr(disk, "LOCK_S", 0.1)
        with pytest.raises(OSError, match="another program is changing it"):
            file.update(lambda known: [1])
        assert file.read() is None
        holder.send_signal(signal.SIGKILL)
    file.update(lambda known: [2])
    assert file.read() == [2]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"[" * 99_999, b"1" * 5_000, b"\xff"])
def test_a_damaged_file_reads_as_nothing_and_is_set_aside_once(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    file = JsonFile(path, dict[str, int])
    assert file.read() is None
    assert file.set_aside() == path.with_suffix(".damaged")
    assert file.set_aside() is None
    file.update(lambda known: None)  # which writes nothing
    assert not path.exists()
    file.update(lambda known: {"a": len(known or {})})
    assert (file.set_aside(), file.read()) == (None, {"a": 0})
    assert path.with_suffix(".damaged").read_bytes() == content


def link(path: Path) -> None:
    (path.parent.parent / "notes.json").write_text(json.dumps({"mine": 1}))
    path.symlink_to("../notes.json")


def zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [os.mkfifo, link, zeros, Path.mkdir])
def test_an_irregular_file_is_neither_waited_for_nor_moved(path: Path, make: Any) -> None:
    path.parent.mkdir(parents=True)
    make(path)
    before = path.lstat()
    file = JsonFile(path, dict[str, int])
    assert file.read() == ({"mine": 1} if make is link else None)
    with pytest.raises(OSError, match="not a regular file; move it away"):
        file.update(lambda known: {})
    if make is not link:
        with pytest.raises(OSError, match="not a regular file; move it away"):
            file.set_aside()
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)


def test_a_private_file_is_nobody_elses_and_a_failure_leaves_it_as_it_was(path: Path) -> None:
    before = os.umask(0)
    try:
        disk.write_private(path, "text")
        disk.write_private(path, "other text")
    finally:
        os.umask(before)
    modes = [place.stat().st_mode & 0o777 for place in (path, *path.parents[:2])]
    assert modes == [0o600, 0o700, 0o700]
    with pytest.raises(UnicodeEncodeError):
        disk.write_private(path, "\ud800")
    assert path.read_text() == "other text"
    assert list(path.parent.iterdir()) == [path]
