"""The last version of each edited file is kept, and comes back."""

import shlex
import subprocess
from pathlib import Path

import pytest

from assistant.edit import kept_versions, text_file
from models.errors import StorageError, UsageError


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECCHAT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "file.txt"
    path.write_text("old\n")
    return path


def write(path, new, keeps=True):
    file = text_file.read(path)
    kept_versions.write(file, new, file.data if keeps else None)


def test_an_edit_is_taken_back_and_done_again(path):
    write(path, b"new\n")
    assert path.read_text() == "new\n"
    for expected in ("old\n", "new\n", "old\n"):
        kept_versions.undo(path)
        assert path.read_text() == expected


def test_only_its_owner_may_read_what_is_kept(path, tmp_path):
    write(path, b"new\n")
    (kept,) = (tmp_path / "home/edits").iterdir()
    assert kept.stat().st_mode & 0o077 == 0


def test_nothing_is_taken_back_from_a_file_that_has_changed_since(path):
    write(path, b"new\n")
    path.write_text("newest\n")
    with pytest.raises(UsageError, match="has changed since"):
        kept_versions.undo(path)
    assert path.read_text() == "newest\n"
    patch = kept_versions.patch_back(path)
    subprocess.run(["patch", "-p1"], input=patch, check=True, capture_output=True)
    assert path.read_text() == "old\n"


@pytest.mark.parametrize("name", ["my file", "it's", "-x"])
def test_the_command_that_takes_an_edit_back_can_be_pasted(name):
    _, command, option, argument = shlex.split(kept_versions.undoing(Path(name)))
    assert (command, option, Path(argument)) == ("edit", "--undo", Path(name))
    assert not argument.startswith("-")


def test_what_was_never_edited_or_is_back_already_is_said(path):
    with pytest.raises(UsageError, match="No earlier version"):
        kept_versions.undo(path)
    write(path, b"new\n")
    path.write_text("old\n")
    with pytest.raises(UsageError, match="already as it was"):
        kept_versions.undo(path)


def test_where_nothing_can_be_kept_nothing_is_written(path, tmp_path):
    (tmp_path / "home").write_text("in the way")
    with pytest.raises(StorageError, match="--no-save"):
        write(path, b"new\n")
    assert path.read_text() == "old\n"
    write(path, b"new\n", keeps=False)
    assert path.read_text() == "new\n"


def test_the_oldest_versions_make_room(path, tmp_path, monkeypatch):
    monkeypatch.setattr(kept_versions, "MOST", 3)
    for number in range(6):
        other = tmp_path / f"{number}.txt"
        other.write_text("old\n")
        write(other, b"new\n")
    assert len([*(tmp_path / "home/edits").iterdir()]) == 3
    kept_versions.undo(other)


def test_an_edit_that_is_refused_leaves_the_one_before_to_be_taken_back(path):
    stale = text_file.read(path)
    kept_versions.write(stale, b"new\n", stale.data)
    with pytest.raises(StorageError, match="changed meanwhile"):
        kept_versions.write(stale, b"other\n", stale.data)
    kept_versions.undo(path)
    assert path.read_text() == "old\n"
