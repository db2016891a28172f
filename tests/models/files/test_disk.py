import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.files import disk


@pytest.fixture(autouse=True)
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def test_nobody_else_may_read_what_is_written_nor_enter_the_folders_made_for_it(tmp_path: Path):
    path = tmp_path / "a" / "b" / "file"
    disk.write_private(path, "text")
    disk.write_private(path, "other text")
    assert path.read_text() == "other text"
    modes = [each.stat().st_mode & 0o777 for each in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


def test_a_failure_leaves_the_file_as_it_was_and_nothing_else(tmp_path: Path):
    path = tmp_path / "file"
    disk.write_private(path, "text")
    with pytest.raises(UnicodeEncodeError):
        disk.write_private(path, "\ud800")
    assert path.read_text() == "text"
    assert list(tmp_path.iterdir()) == [path]
