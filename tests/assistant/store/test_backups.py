import os
import time
from contextlib import closing

import pytest

from assistant.store import files
from assistant.store.store import Store
from models.errors import StorageError
from tests.assistant.store.conversations import opened, smash, talk


def aged(backup, seconds=90_000):
    """A backup that was made so long ago; a day has 86,400 seconds."""
    then = time.time() - seconds
    os.utime(backup, (then, then))
    return backup


def test_whoever_closes_the_store_backs_it_up_once_a_day(store, path):
    conversation, _ = talk(store, "one")
    store.close()
    first = files.backup_path(path)
    before = first.read_bytes()
    with closing(Store(path)) as again:
        again.rename(conversation, "two")
    assert first.read_bytes() == before
    aged(first)
    with closing(Store(path)):
        pass
    path.write_text("broken")
    assert [each.title for each in opened(path).summaries()] == ["two"]


def test_an_empty_store_is_not_backed_up_so_that_the_first_conversation_is(path):
    with closing(Store(path)) as store:
        assert store.back_up() is None
    assert not files.backup_path(path).exists()
    with closing(Store(path)) as store:
        talk(store, "one")
    assert files.backup_path(path).exists()


def test_a_clock_that_was_wrong_prevents_no_backup(store, path):
    """It was ten years ahead for a while."""
    talk(store, "then")
    aged(store.back_up(), -3e8)
    talk(store, "now")
    assert store.back_up() == files.backup_path(path)
    assert store.back_up() is None


def test_a_damaged_database_takes_no_backup_s_place(store, path):
    talk(store, *(f"{n} " * 500 for n in range(40)))
    good = aged(store.back_up())
    smash(path)
    with pytest.raises(StorageError, match="is damaged"):
        store.back_up()
    assert list(good.parent.iterdir()) == [good]


def test_a_copy_that_a_kill_left_unfinished_goes_with_the_next(store, path):
    talk(store, "one")
    folder = aged(store.back_up()).parent
    (folder / "left.part").write_text("half")
    assert [store.back_up()] == list(folder.iterdir())
