import hashlib
import os
import shutil
from unittest.mock import Mock

import pytest

from models.errors import Cancelled, ModelError
from models.files import checksum
from models.files.checksum import check, verified_path
from models.files.locate import identify
from models.files.places import cache_dir
from models.progress import Progress
from tests.models.files.conftest import enter, toy
from tests.models.files.interrupting import stopping
from tests.models.files.stores import file, hub_file


def flip(path, at=-1):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    status = path.stat()
    path.write_bytes(data)
    return status


@pytest.fixture
def mine(tmp_path, data, monkeypatch):
    """A catalogue file that lies in SPECCHAT_MODELS."""
    gguf = enter(monkeypatch, toy(data, repo=None))
    return file(tmp_path / "models" / gguf.file, data)


def counted(monkeypatch):
    """Return what reads a whole file from now on, and counts it."""
    reading = Mock(wraps=checksum.sha256)
    monkeypatch.setattr(checksum, "sha256", reading)
    return reading


def test_a_whole_file_is_read_until_somebody_asks_to_stop(tmp_path, data):
    path, seen = tmp_path / "file", list[Progress]()
    path.write_bytes(data)
    assert checksum.sha256(path, seen.append) == hashlib.sha256(data).hexdigest()
    assert (seen[-1].done, seen[-1].total) == (len(data), len(data))
    with pytest.raises(Cancelled):
        checksum.sha256(path, stopping(lambda seen: True))


def test_a_file_is_verified_before_first_use_then_remembered_until_it_is_touched(mine, monkeypatch):
    reading = counted(monkeypatch)
    assert [verified_path("toy"), verified_path("toy")] == [mine, mine]
    assert reading.call_count == 1
    os.utime(mine, ns=(0, 0))
    assert [verified_path("toy"), verified_path("toy")] == [mine, mine]
    assert reading.call_count == 2
    shutil.copy2(mine, mine.with_name("other")).replace(mine)  # of the same time
    assert [verified_path("toy"), verified_path("toy")] == [mine, mine]
    assert reading.call_count == 3


def test_any_blob_named_by_its_sha256_is_verified_but_none_given_by_its_path_is_removed(data):
    link = hub_file("some/one", "0" * 40, "x.gguf", data, "e" * 64)
    with pytest.raises(ModelError, match="replace it"):
        verified_path(str(link))
    assert link.exists()
    blob = link.resolve()
    with pytest.raises(ModelError, match="It was removed"):
        verified_path("some/one:x.gguf")
    assert not blob.exists()
    assert not link.is_symlink()


def test_a_link_to_a_file_of_the_user_is_removed_and_never_the_file(mine, tmp_path):
    elsewhere = mine.rename(tmp_path / "tuned.gguf")
    flip(elsewhere)
    mine.symlink_to(elsewhere)
    with pytest.raises(ModelError, match="It was removed"):
        verified_path("toy")
    assert elsewhere.exists()
    assert not mine.is_symlink()


def test_a_file_that_nobody_vouches_for_is_used_unread(tmp_path, data, monkeypatch):
    reading = counted(monkeypatch)
    path = tmp_path / "mine.gguf"
    path.write_bytes(data)
    assert verified_path(str(path)) == path
    assert not reading.called


def test_check_reads_again_whatever_is_remembered(mine):
    assert check(identify("toy")) == identify("toy").promised_sha256
    status = flip(mine)
    os.utime(mine, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(ModelError, match=r"damaged.* removed"):
        check(identify("toy"))
    assert not mine.exists()


def test_a_memory_that_cannot_be_written_is_no_failure(mine):
    cache_dir().parent.mkdir(parents=True)
    cache_dir().write_text("a file where the folder should be")
    assert verified_path("toy") == mine
