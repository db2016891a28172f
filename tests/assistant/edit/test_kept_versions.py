"""`kept_versions`: the previous version of each edited file, and its restoration."""

import errno
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path

import pytest

from assistant.edit import kept_versions, text_file
from assistant.edit.answer_change import answer_changes
from assistant.store.values import Attachment, StoredMessage
from models.errors import StorageError, UsageError
from tests import ROOT


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "file.txt"
    path.write_text("old\n")
    return path


def write(path, new, keeps=True):
    file = text_file.read(path)
    kept_versions.write(file, new, file.data if keeps else None)


def test_an_edit_is_taken_back_and_done_again_though_two_programs_made_it(path):
    file = text_file.read(path)
    write(path, b"new\n")
    with pytest.raises(StorageError, match="has changed meanwhile"):
        kept_versions.write(file, b"new\n", file.data)
    assert path.read_text() == "new\n"
    for expected in ("old\n", "new\n", "old\n"):
        kept_versions.undo(path)
        assert path.read_text() == expected


def test_only_its_owner_may_read_what_is_kept(path, tmp_path):
    write(path, b"new\n")
    (stored,) = (tmp_path / "home/edits").iterdir()
    assert stored.stat().st_mode & 0o077 == 0


def test_nothing_is_taken_back_from_a_file_that_has_changed_since(path):
    write(path, b"new\n")
    path.write_text("newest\n")
    with pytest.raises(UsageError, match="has changed since"):
        kept_versions.undo(path)
    assert path.read_text() == "newest\n"
    patch = kept_versions.undo_patch(path)
    subprocess.run(["patch", "-p1"], input=patch, check=True, capture_output=True)
    assert path.read_text() == "old\n"


@pytest.mark.parametrize("keeps", [True, False])
def test_changes_of_answers_are_taken_back_one_after_another(path, keeps):
    texts = ["", "a\nB\nc\n", "a\nB\nC\n"]
    path.write_text(texts[0])
    changes = []
    for old, new in pairwise(texts):
        attached = (Attachment("file.txt", old.rstrip()),)
        question = StoredMessage(1, None, "user", "?", 0.0, "complete", attachments=attached)
        answer = StoredMessage(2, 1, "assistant", f"file.txt\n```\n{new}```", 0.0, "complete")
        changes += answer_changes(answer, [question, answer])[0]
        assert not changes[-1].warnings
        changes[-1].write(saves=keeps)
        assert path.read_text() == new
    path.write_text("mine\n")
    with pytest.raises(StorageError, match="stays as it is now"):
        changes[1].undo()
    path.write_text(texts[2])
    for change, text in zip(reversed(changes), reversed(texts[:2]), strict=True):
        change.undo()
        assert path.read_text() == text


def change(text, name="a/b/new.txt"):
    answer = StoredMessage(2, 1, "assistant", f"{name}\n```\n{text}\n```", 0.0, "complete")
    return answer_changes(answer, [answer])


def test_a_new_file_is_made_with_its_folders_and_taken_back_with_them(path):
    ((new,), ()) = change("x")
    assert [*new.warnings] == [f"A new file in {path.parent / 'a/b'}."]
    old_mask = os.umask(0o027)
    new.write(saves=True)
    os.umask(old_mask)
    assert new.file.path.read_text() == "x\n"
    assert new.file.path.stat().st_mode & 0o777 == 0o640
    assert change("x") == ([], ["a/b/new.txt has this change already."])
    ((other,), ()) = change("y", "a/other.txt")
    other.write(saves=True)
    other.undo()
    new.undo()
    new.undo()  # it is gone already
    assert [*path.parent.iterdir()] == [path]
    Path("a").write_text("in the way")
    with pytest.raises(StorageError, match="written: Not a directory"):
        new.write(saves=True)


def test_a_new_file_that_is_there_meanwhile_or_was_changed_stays(path):
    ((new,), ()) = change("x", "new.txt")
    Path("new.txt").write_text("mine")
    with pytest.raises(StorageError, match="has changed meanwhile"):
        new.write(saves=True)
    with pytest.raises(StorageError, match="stays as it is now"):
        new.undo()
    assert Path("new.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["../x.c", "/etc/x.c", "~/x.c", "out/x.c", "loop/x.c", ".git/x.c"])
def test_an_answer_writes_nothing_outside_the_folder_unless_it_was_attached(path, tmp_path, name):
    Path("in").mkdir()
    os.chdir("in")
    Path("out").symlink_to(tmp_path)
    Path("loop").symlink_to("loop")
    changes, (reason,) = change("x", name)
    assert changes == []
    assert reason == f"{name} is outside this folder or in .git, so no answer writes it."


def test_a_file_that_was_not_attached_is_compared_with_what_is_there(path):
    ((new,), ()) = change("new", "file.txt")
    assert [line.text for line in new.hunks[0].lines] == ["old", "new"]
    assert "was not attached" in new.warnings[0]
    path.write_bytes(b"\0")
    assert change("new", "file.txt")[0] == []


@pytest.mark.parametrize("name", ["my file", "it's", "-x"])
def test_the_command_that_takes_an_edit_back_can_be_pasted(name):
    _, command, option, argument = shlex.split(kept_versions.undo_command(Path(name)))
    assert (command, option, Path(argument)) == ("edit", "--undo", Path(name))
    assert not argument.startswith("-")


def test_the_undo_of_a_file_never_edited_or_already_restored_is_refused(path):
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
    monkeypatch.setattr(kept_versions, "MAX_VERSIONS", 3)
    versions: set[Path] = set()
    for number in range(6):
        other = tmp_path / f"{number}.txt"
        other.write_text("old\n")
        write(other, b"new\n")
        for version in {*(tmp_path / "home/edits").iterdir()} - versions:
            os.utime(version, 2 * (number + 9e9,))  # clocks are coarse, or have been ahead
        versions = {*(tmp_path / "home/edits").iterdir()}
    assert len(versions) == 3
    for number in range(3):
        with pytest.raises(UsageError, match="No earlier version"):
            kept_versions.undo(tmp_path / f"{number}.txt")
        kept_versions.undo(tmp_path / f"{number + 3}.txt")


@pytest.mark.parametrize("is_edited", [True, False])
def test_a_write_that_fails_leaves_only_the_edit_before_it(path, monkeypatch, is_edited):
    if is_edited:
        write(path, b"new\n")
    with monkeypatch.context() as full:
        full.setattr(shutil, "copystat", refuse)
        for text in ("by hand\n", "old\n", path.read_text()):
            path.write_text(text)
            with pytest.raises(StorageError, match="It is intact"):
                write(path, b"new\n" if text != "new\n" else b"newer\n")
    with nullcontext() if is_edited else pytest.raises(UsageError, match="No earlier version"):
        kept_versions.undo(path)
    assert path.read_text() == "old\n"


def refuse(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("call", ["scandir", "unlink"])
def test_a_disk_that_fails_is_named_and_the_file_is_intact(path, monkeypatch, call):
    write(path, b"new\n")
    monkeypatch.setattr(shutil, "copystat", refuse)
    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(StorageError, match=r"cannot be (read|written): No space left"):
        kept_versions.undo(path)
    assert path.read_text() == "new\n"


KILLED = """
import os, sys
from pathlib import Path
from assistant.edit import kept_versions, text_file
name, call, path = sys.argv[1], getattr(os, sys.argv[1]), Path(sys.argv[2])
file = text_file.read(path)
def killed(*arguments):
    call(*arguments)
    if name != "replace" or arguments[-1] == path:
        os.kill(os.getpid(), 9)
setattr(os, name, killed)
kept_versions.write(file, b"newer\\n", file.data)
"""


@pytest.mark.parametrize(
    ("call", "made", "now", "before"),
    [
        ("fsync", "new\n", "new\n", "old\n"), ("replace", "new\n", "newer\n", "new\n"),
        ("chown", "newer\n", "new\n", "old\n"), ("replace", "newer\n", "newer\n", "new\n"),
    ],
)  # fmt: skip
def test_a_kill_leaves_the_last_edit_that_was_done_to_be_taken_back(path, call, made, now, before):
    """Killed while the old version is kept, or just before or after the file was replaced.

    An edit that made the same was done before, and the file was then changed by hand.
    """
    write(path, made.encode())
    path.write_text("new\n")
    subprocess.run([sys.executable, "-c", KILLED, call, str(path)], cwd=ROOT, check=False)
    assert path.read_text() == now
    assert f"-{now}+{before}".encode() in kept_versions.undo_patch(path)


def test_half_a_version_of_a_killed_program_is_none(path, tmp_path):
    write(path, b"new\n")
    (stored,) = (tmp_path / "home/edits").iterdir()
    half = stored.rename(f"{stored}.1.2")
    with pytest.raises(UsageError, match="No earlier version"):
        kept_versions.undo(path)
    write(path, b"newer\n")
    kept_versions.undo(path)
    assert (path.read_text(), half.exists()) == ("new\n", True)


def test_a_pipe_or_a_link_where_the_version_is_kept_is_left_alone(path, tmp_path):
    for make in (os.mkfifo, lambda stored: stored.symlink_to(tmp_path / "other")):
        write(path, b"new\n")
        (stored,) = (tmp_path / "home/edits").iterdir()
        stored.unlink()
        make(stored)
        with pytest.raises(UsageError, match="No earlier version"):
            kept_versions.undo(path)
        write(path, b"old\n")
        with pytest.raises(StorageError, match="not a regular file"):
            write(path, b"new\n")
        assert os.path.lexists(stored)
        shutil.rmtree(stored.parent)


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("check", [None, b"formatted\n", b"\0binary", "removed"])
def test_an_edit_is_taken_back_whatever_its_check_has_made_of_the_file(path, check, keeps):
    before = text_file.read(path)
    kept_versions.write(before, b"new\n", before.data if keeps else None)
    if check == "removed":
        path.unlink()
    elif check:
        path.write_bytes(check)
    if isinstance(check, bytes) and not keeps:
        with pytest.raises(StorageError, match="stays as it is now"):
            kept_versions.restore(before, b"new\n", keeps)
        assert path.read_bytes() == check
        return
    done = kept_versions.restore(before, b"new\n", keeps)
    assert path.read_text() == "old\n"
    assert ("As before" in done) == (check is None)
    if check and keeps:
        assert isinstance(check, str) or kept_versions.undo_command(path) in done
        kept_versions.undo(path)
        assert path.read_bytes() == (b"new\n" if check == "removed" else check)


@pytest.mark.parametrize("keeps", [True, False])
def test_a_link_that_an_edited_file_has_become_leads_to_a_file_that_stays(path, tmp_path, keeps):
    before, other = text_file.read(path), tmp_path / "other"
    kept_versions.write(before, b"new\n", before.data if keeps else None)
    for text in ("another\n", "new\n"):
        other.write_text(text)
        path.unlink()
        path.symlink_to(other)
        with pytest.raises(StorageError, match="another file now"):
            kept_versions.restore(before, b"new\n", keeps)
        assert other.read_text() == text
