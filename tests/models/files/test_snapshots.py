"""`snapshots`: each is whole or absent, private, bounded, and deleted on request."""

import os
import stat
from contextlib import closing
from unittest.mock import Mock

import pytest

from models.files import snapshots
from models.files.snapshots import Snapshots, discard, folder

TOKENS = [1, 2, 3, 70_000]
STATE = memoryview(bytes(range(256)) * 20)


@pytest.fixture
def kept():
    """A folder that holds one snapshot, and its path."""
    with closing(Snapshots(folder(), "a model", 1 << 20)) as opened:
        opened.write(TOKENS, STATE)
        (path,) = folder().iterdir()
        yield opened, path


def names() -> list[str]:
    return sorted(path.name for path in folder().iterdir())


def saved(opened: Snapshots) -> list[list[int]]:
    return sorted(snapshot.tokens for snapshot in opened.find())


def test_nobody_else_may_read_it(kept):
    _, path = kept
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for _ in range(2):
        assert stat.S_IMODE(folder().stat().st_mode) == 0o700
        folder().chmod(0o755)
        Snapshots(folder(), "a model", 1).close()


def test_a_snapshot_is_found_and_read_and_one_flipped_bit_anywhere_noticed(kept):
    opened, path = kept
    whole = path.read_bytes()
    for place in [*range(140), *range(140, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(ValueError, match=r"damaged|not a snapshot"):
            opened.read(path.name)
    path.write_bytes(whole)
    (snapshot,) = opened.find()
    assert (snapshot.name, snapshot.tokens) == (path.name, TOKENS)
    assert opened.read(path.name) == (TOKENS, STATE)


def test_a_file_that_was_cut_or_lengthened_is_no_snapshot(kept):
    opened, path = kept
    whole = path.read_bytes()
    for data in (b"", whole[:1], whole[:90], whole[:120], whole[:-1], whole + b"\0"):
        path.write_bytes(data)
        assert list(opened.find()) == []
        with pytest.raises(ValueError, match="not a snapshot"):
            opened.read(path.name)


def test_another_identity_sees_nothing_and_takes_nothing(kept):
    _, path = kept
    other = Snapshots(folder(), "a model of another version", 1 << 20)
    assert list(other.find()) == []
    with pytest.raises(ValueError, match="not a snapshot"):
        other.read(path.name)
    other.write(TOKENS, STATE)
    assert len(names()) == 2
    other.close()


def test_a_longer_snapshot_replaces_what_it_continues_from_and_nothing_else(kept):
    opened, _ = kept
    opened.write([1, 2, 9], STATE)
    opened.write([*TOKENS, 5, 6], STATE)
    assert saved(opened) == [[1, 2, 3, 70_000, 5, 6], [1, 2, 9]]


def test_the_one_used_longest_ago_goes_first():
    opened = Snapshots(folder(), "a model", 3 * (len(STATE) + 200))
    for token in (1, 2, 3):
        opened.write([token], STATE)
        by_token = {snapshot.tokens[0]: snapshot.name for snapshot in opened.find()}
        os.utime(folder() / by_token[token], (token, token))
    opened.read(by_token[1])
    opened.write([4], STATE)
    assert saved(opened) == [[1], [3], [4]]
    opened.close()


def test_one_that_is_larger_than_the_room_or_the_rest_of_the_disk_is_not_written(monkeypatch):
    opened = Snapshots(folder(), "a model", 1000)
    opened.write([2], STATE[:100])
    opened.write([1], STATE)
    monkeypatch.setattr(snapshots, "SPARE", 1 << 60)
    opened.write([1], STATE[:100])
    assert saved(opened) == [[2]]
    opened.close()


def test_a_write_that_fails_leaves_nothing(kept, monkeypatch):
    opened, path = kept
    monkeypatch.setattr(os, "replace", Mock(side_effect=OSError("the disk is full")))
    with pytest.raises(OSError, match="full"):
        opened.write([1], STATE)
    assert names() == [path.name]


def test_the_part_that_a_kill_left_over_goes_after_an_hour(kept):
    opened, path = kept
    for name, age in (("old.kv.1.part", 4000), ("new.kv.2.part", 0)):
        part = folder() / name
        part.write_bytes(b"half")
        os.utime(part, (part.stat().st_mtime - age,) * 2)
    opened.write([7], STATE)
    assert path.name in names()
    assert [name for name in names() if name.endswith("part")] == ["new.kv.2.part"]


def test_after_a_discard_who_held_the_folder_open_writes_nothing_any_more(kept):
    opened, path = kept
    discard(folder())
    assert not path.exists()
    with pytest.raises(OSError, match="No such file"):
        opened.write([1], STATE)
    other = Snapshots(folder(), "a model", 1 << 20)  # a conversation that began afterwards
    with pytest.raises(OSError, match="No such file"):
        opened.write([1], STATE)
    assert list(opened.find()) == list(other.find()) == []
    other.write([1], STATE)
    assert len(names()) == 1
    other.close()


def test_a_discard_also_takes_what_is_written_meanwhile(kept, monkeypatch):
    opened, _ = kept
    rmdir, late = os.rmdir, [[1], [2]]

    def write_first(path, **options):
        if late:
            opened.write(late.pop(), STATE)
        rmdir(path, **options)

    monkeypatch.setattr(os, "rmdir", write_first)
    discard(folder())
    assert not folder().exists()
    discard(folder())  # there may be nothing


def test_a_link_is_not_followed_and_a_pipe_not_waited_for(kept, tmp_path):
    opened, path = kept
    os.mkfifo(path.with_stem("0" * 64))
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert list(opened.find()) == []
