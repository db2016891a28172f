"""`weights`: the pages of a mapped file are released, and can be read again."""

import mmap
import re
import sys
from unittest.mock import Mock

import pytest

from models.native import weights

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells and obeys")
SIZE = 4 << 20


def resident(name: str) -> int:
    """Return the bytes in memory of what is mapped from a file of that name."""
    with open("/proc/self/smaps", encoding="utf-8") as smaps:
        text = smaps.read()
    part = text[text.index(name) :]
    size = re.search(r"^Rss:\s+(\d+) kB", part, re.MULTILINE)
    assert size is not None
    return int(size[1]) << 10


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "mapped.bin"
    path.write_bytes(bytes(range(256)) * (SIZE >> 8))
    return path


def test_pages_of_a_mapped_file_go_and_come_again(path):
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        expected = mapped[:]
        assert resident(path.name) >= SIZE
        weights.release_mapped_pages(path.with_name("other"))
        assert resident(path.name) >= SIZE
        weights.release_mapped_pages(path)
        assert resident(path.name) == 0
        assert mapped[:] == expected


def test_a_change_in_memory_alone_stays(path):
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as mapped:
        mapped[:] = bytes(SIZE)
        weights.release_mapped_pages(path)
        assert mapped[:] == bytes(SIZE)


def test_without_proc_nothing_happens(monkeypatch, path):
    no_file = Mock(side_effect=FileNotFoundError)
    monkeypatch.setattr("models.native.weights.Path.read_bytes", no_file)
    weights.release_mapped_pages(path)
