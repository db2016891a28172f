import os
from pathlib import Path

import pytest

from models.files import disk


def test_a_private_file_is_nobody_elses_and_a_failure_leaves_it_as_it_was(tmp_path: Path):
    path = tmp_path / "a" / "b" / "file"
    before = os.umask(0)
    try:
        disk.write_private(path, "text")
        disk.write_private(path, "other text")
    finally:
        os.umask(before)
    modes = [each.stat().st_mode & 0o777 for each in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]
    with pytest.raises(UnicodeEncodeError):
        disk.write_private(path, "\ud800")
    assert path.read_text() == "other text"
    assert list(path.parent.iterdir()) == [path]
