"""`text_file`: encoding, line ends and mode stay, and a write is atomic."""

import errno
import os
import stat
import subprocess
import sys
import time
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import Mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assistant.edit import text_file
from models.errors import StorageError, UsageError
from tests import ROOT

TEXT = "one\ntwo ü\nthree\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "\n", "\n\n\n"])
def test_encoding_line_ends_and_last_newline_stay(tmp_path, encoding, end, last):
    path = tmp_path / "file.txt"
    path.write_bytes((TEXT.rstrip("\n") + last).replace("\n", end).encode(encoding))
    file = text_file.read(path)
    assert file.lines == ("one", "two ü", "three")
    new = file.encode("one\n2 ü\nthree\n")
    assert new == path.read_bytes().replace("two".encode(file.encoding), "2".encode(file.encoding))


def test_each_old_line_keeps_its_own_end_where_they_differ(tmp_path):
    path = tmp_path / "mixed"
    path.write_bytes(b"a\r\nb\nc\r\nd\r\n")
    file = text_file.read(path)
    for end in ("\n", "\r\n"):  # a new text brings none of its own
        new = end.join(["a", "b", "new", "c", "d"])
        assert file.encode(new) == b"a\r\nb\nnew\r\nc\r\nd\r\n"


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")), st.data())
def test_of_mixed_ends_those_above_a_change_stay(old, new, data):
    """And the text is the new one in any case."""
    ends = [data.draw(st.sampled_from(["\n", "\r\n"])) for _ in old]
    file = text_file.parse(Path("f"), "".join(map(add, old, ends)).encode())
    written = file.encode("\n".join(new)).decode()
    assert written.replace("\r\n", "\n").rstrip("\n") == "\n".join(new)
    same = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), None)
    assert written.startswith("".join(map(add, old[:same], ends))) or same is None


def test_a_character_that_the_encoding_lacks_is_refused():
    file = text_file.parse(Path("f"), "été\n".encode("latin-1"))
    with pytest.raises(UsageError, match="latin-1, which has no '→'"):
        file.encode("été → hiver")


def test_a_file_is_replaced_in_one_step_with_its_mode_and_where_its_link_leads(tmp_path):
    real, link = tmp_path / "real.sh", tmp_path / "link.sh"
    real.write_text("old\n")
    os.chown(real, *(2 * [1234] if os.geteuid() == 0 else [-1, -1]))
    real.chmod(0o750)
    owner = real.stat().st_uid, real.stat().st_gid
    link.symlink_to("real.sh")
    with real.open() as reader:
        text_file.replace(link, b"old\n", b"new\n")
        assert reader.read() == "old\n"  # the file is another one: nothing was written over
    assert (link.is_symlink(), real.read_text()) == (True, "new\n")
    assert stat.S_IMODE(real.stat().st_mode) == 0o750
    assert (real.stat().st_uid, real.stat().st_gid) == owner
    assert abs(real.stat().st_mtime - time.time()) < 3600
    assert sorted(os.listdir(tmp_path)) == ["link.sh", "real.sh"]


def test_where_modes_cannot_be_set_a_file_is_written_if_the_usual_one_is_its_own(
    tmp_path, monkeypatch
):
    (path := tmp_path / "a.txt").write_text("old")
    refused = Mock(side_effect=PermissionError(errno.EPERM, os.strerror(errno.EPERM)))
    # The system drops the bit of a group that its owner has left, and reports no error.
    for mode, chmod in ((0o640, refused), (0o2600, Mock())):
        path.chmod(mode)
        with monkeypatch.context() as shared:
            shared.setattr(os, "chmod", chmod)
            with pytest.raises(StorageError, match="would lose its permissions"):
                text_file.replace(path, b"old", b"new")
    path.chmod(0o600)
    monkeypatch.setattr(os, "chmod", refused)
    text_file.replace(path, b"old", b"new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o600)


def test_attributes_stay(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    try:
        os.setxattr(path, "user.origin", b"here")
    except (OSError, AttributeError):
        pytest.skip("no extended attributes here")
    text_file.replace(path, b"old", b"new")
    assert os.getxattr(path, "user.origin") == b"here"


def refused(path, old=b"old", new=b"new"):
    with pytest.raises(StorageError) as error:
        text_file.replace(path, old, new)
    return str(error.value)


def test_a_file_that_must_not_be_replaced_is_named_with_the_reason_and_stays(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o444)
    assert "read-only" in refused(path)
    path.chmod(0o644)
    with monkeypatch.context() as system:
        system.setattr(os, "access", lambda path, mode: not mode & os.X_OK)
        assert f"its folder {tmp_path} is read-only" in refused(path)
    with monkeypatch.context() as system:
        system.setattr(os, "geteuid", lambda: os.getuid() + 1)
        assert "belongs to another user" in refused(path)
    os.link(path, tmp_path / "other")
    assert "hard links" in refused(path)
    (tmp_path / "other").unlink()
    path.write_text("newer")
    assert "changed meanwhile" in refused(path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"file": "newer"}
    path.unlink()
    assert "cannot be read any more" in refused(path)
    os.mkfifo(path)
    assert "not a file" in refused(path)
    path.unlink()
    path.mkdir()
    assert "not a file" in refused(path)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_full_or_broken_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, number):
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(number, os.strerror(number))))
    assert os.strerror(number) in refused(path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"file": "old"}


NAMES = st.from_regex(r"\A\.?specchat[-.~\w]{0,50}\Z") | st.from_regex(
    r"\A\.specchat-[0-9a-f]{16}(-[0-9a-f]{16})?(\.tmp)?\Z"
)


@given(
    st.dictionaries(NAMES | st.text("a.~#-_ *[é\udc80", min_size=1), st.binary()),
    st.sampled_from(["edited file", "a**b", "[a", "n" * 255]),
)
@example({".specchat.toml": b"ours?", ".specchat-0123456789abcdef-0123456789abcdef": b""}, "b")
def test_an_edit_leaves_every_neighbour_as_it_is(neighbours, edited):
    neighbours = {name: data for name, data in neighbours.items() if name.strip(".")}
    with TemporaryDirectory() as folder:
        path = Path(folder) / edited
        for name, data in {**neighbours, path.name: b"old"}.items():
            (Path(folder) / name).write_bytes(data)
            os.utime(Path(folder) / name, (1, 1))
        text_file.replace(path, b"old", b"new")
        now = {each.name: each.read_bytes() for each in Path(folder).iterdir()}
        assert now == {**neighbours, path.name: b"new"}


KILLED = """
import os, sys
from pathlib import Path
from assistant.edit import text_file
os.fsync = lambda descriptor: os.kill(os.getpid(), 9)
text_file.replace(Path(sys.argv[1]), b"old", b"new")
"""


def test_a_killed_edit_leaves_the_old_file_and_one_that_goes_with_the_next_edit(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    subprocess.run([sys.executable, "-c", KILLED, str(path)], cwd=ROOT, check=False)
    assert path.read_text() == "old"
    (left,) = set(tmp_path.iterdir()) - {path}
    text_file.replace(path, b"old", b"newer")
    assert left.exists()  # another program may be about to use it
    os.utime(left, (1, 1))
    text_file.replace(path, b"newer", b"new")
    assert os.listdir(tmp_path) == ["file"]
