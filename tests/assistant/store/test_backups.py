import os
import time

import pytest

from assistant.store import backups, files
from models.errors import StorageError
from tests.assistant.store.talks import opened, talk


def test_a_backup_is_made_once_a_day(store, path):
    talk(store, "one")
    first = store.back_up()
    assert first is not None
    assert store.back_up() is None
    yesterday = time.time() - 90_000
    os.utime(first, (yesterday, yesterday))
    assert store.back_up() is not None
    assert len(backups.backups(path)) == 2


def test_the_newest_five_are_kept(store, path):
    made = [store.back_up(older_than_s=0) for _ in range(8)]
    assert backups.backups(path) == made[:2:-1]


def test_a_clock_that_was_wrong_prevents_no_backup(store, path):
    """It was ten years ahead for a while; in those days a backup was made every day."""
    talk(store, "then")
    for number in range(5):
        made = store.back_up(older_than_s=0)
        os.utime(made, (time.time() + 3e8,) * 2)
        made.rename(made.with_name(f"2999-01-0{number}.db"))
    conversation, _ = talk(store, "now")
    made = store.back_up()
    assert made == backups.backups(path)[0]
    assert store.back_up() is None
    store.delete(conversation)
    store.purge()
    assert len(backups.backups(path)) == 1
    path.write_text("broken")
    store.close()
    again = opened(path)
    assert [each.title for each in again.summaries()] == ["then"]


def test_a_damaged_database_takes_no_backup_s_place(store, path):
    talk(store, *(f"{n} " * 500 for n in range(40)))
    good = [store.back_up(older_than_s=0) for _ in range(5)]
    smash(path)
    with pytest.raises(StorageError, match="damaged"):
        store.back_up(older_than_s=0)
    assert sorted(backups.backups(path)) == sorted(good)
    assert files.suspect(path).exists()


def test_a_backup_is_a_database_of_its_own(store, path, tmp_path):
    talk(store, "one", "two")
    copy = tmp_path / "elsewhere" / "chats.db"
    copy.parent.mkdir()
    copy.write_bytes(store.back_up().read_bytes())
    other = opened(copy)
    assert other.summaries() == store.summaries()
    assert [path.name for path in files.backups(path).iterdir() if path.suffix == ".part"] == []


def smash(path):
    """Overwrite pages of a file, after those that list its tables."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size * 3 // 4 // 4096 * 4096)
        file.write(b"\xa5" * 16384)
