import os
import time
from contextlib import closing

import pytest

from assistant.store import Store, backups
from models.errors import StorageError
from tests.assistant.store.talks import opened, talk


def aged(backup, seconds=90_000):
    """A backup that was made so long ago; a day has 86,400 seconds."""
    then = time.time() - seconds
    os.utime(backup, (then, then))
    return backup


def test_a_backup_is_made_once_a_day_and_takes_the_place_of_the_one_before(store, path):
    talk(store, "one")
    first = store.back_up()
    assert backups.backups(path) == [first]
    talk(store, "two")
    assert store.back_up() is None
    aged(first)
    assert store.back_up() == first
    assert backups.backups(path) == [first]
    path.write_text("broken")
    store.close()
    assert len(opened(path).summaries()) == 2


def test_whoever_closes_the_store_backs_it_up(store, path):
    conversation, _ = talk(store, "one")
    store.close()
    (first,) = backups.backups(path)
    with closing(Store(path)):
        pass
    assert backups.backups(path) == [first]
    aged(first)
    with closing(Store(path)) as again:
        again.rename(conversation, "two")
    path.write_text("broken")
    assert [each.title for each in opened(path).summaries()] == ["two"]


def test_an_empty_store_is_not_backed_up_so_that_the_first_conversation_is(path):
    with closing(Store(path)) as store:
        assert store.back_up() is None
    assert backups.backups(path) == []
    with closing(Store(path)) as store:
        talk(store, "one")
    assert len(backups.backups(path)) == 1


def test_a_clock_that_was_wrong_prevents_no_backup(store, path):
    """It was ten years ahead for a while."""
    talk(store, "then")
    aged(store.back_up(), -3e8)
    talk(store, "now")
    made = store.back_up()
    assert backups.backups(path) == [made]
    assert store.back_up() is None


def test_a_damaged_database_takes_no_backup_s_place(store, path):
    talk(store, *(f"{n} " * 500 for n in range(40)))
    good = store.back_up()
    smash(path)
    with pytest.raises(StorageError, match="is damaged"):
        store.back_up(older_than_s=0)
    assert list(good.parent.iterdir()) == [good]


def test_a_copy_that_a_kill_left_unfinished_goes_with_the_next(store, path):
    talk(store, "one")
    folder = store.back_up().parent
    (folder / "left.part").write_text("half")
    made = store.back_up(older_than_s=0)
    assert list(folder.iterdir()) == [made]


def test_a_backup_is_a_database_of_its_own(store, path, tmp_path):
    talk(store, "one", "two")
    copy = tmp_path / "elsewhere" / "chats.db"
    copy.parent.mkdir()
    copy.write_bytes(store.back_up().read_bytes())
    other = opened(copy)
    assert other.summaries() == store.summaries()


def smash(path):
    """Overwrite pages of a file, after those that list its tables."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size * 3 // 4 // 4096 * 4096)
        file.write(b"\xa5" * 16384)
