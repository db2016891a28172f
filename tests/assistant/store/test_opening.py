import os
import resource
import sqlite3
from contextlib import closing

import pytest

from assistant.store import Store, backups, database, files, opening, place, present
from models.errors import StorageError
from tests.assistant.store.talks import answering, contents, end, integrity, opened, talk
from tests.assistant.store.test_backups import smash

CORRUPTIONS = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("Dear diary,\n" * 500),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "header only": lambda path: os.truncate(path, 100),
    "truncated": lambda path: os.truncate(path, path.stat().st_size // 3),
    "truncated in a page": lambda path: os.truncate(path, path.stat().st_size - 1000),
    "pages smashed": smash,
    "random": lambda path: path.write_bytes(os.urandom(50_000)),
}


@pytest.fixture
def filled(path):
    """A closed store of forty messages, with a backup."""
    store = opened(path)
    talk(store, *(f"{number} " * 300 for number in range(20)))
    store.back_up()
    store.close()
    return path


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_a_damaged_file_is_kept_aside_and_the_backup_restored(filled, corruption):
    CORRUPTIONS[corruption](filled)
    broken = filled.read_bytes()
    store = opened(filled)
    (aside,) = filled.parent.glob("chats.db.corrupt-*")
    assert aside.read_bytes() == broken
    assert str(aside) in store.notice
    assert str(backups.backups(filled)[0]) in store.notice
    assert store.summaries()[0].messages == 40
    talk(store, "goes on")
    store.close()
    assert integrity(filled) == "ok"
    again = opened(filled)
    assert again.notice is None


@pytest.mark.parametrize("corruption", [each for each in CORRUPTIONS if each != "empty"])
@pytest.mark.some(3)
def test_without_a_backup_a_damaged_file_is_kept_and_a_new_one_begun(filled, corruption):
    for backup in backups.backups(filled):
        backup.unlink()
    CORRUPTIONS[corruption](filled)
    broken = filled.read_bytes()
    store = opened(filled)
    (aside,) = filled.parent.glob("chats.db.corrupt-*")
    assert aside.read_bytes() == broken
    assert "starts empty" in store.notice
    assert store.summaries() == ()


def test_a_damaged_backup_gives_way_to_an_older_one(filled):
    good = backups.backups(filled)[0]
    for name, content in (("-1", b""), ("-2", b"text"), ("-3", good.read_bytes()[:9000])):
        good.with_stem(good.stem + name).write_bytes(content)
    assert backups.backups(filled)[3:] == [good]
    filled.write_text("broken")
    store = opened(filled)
    assert str(good) in store.notice


def test_two_damages_in_one_second_overwrite_nothing(filled):
    for number in range(3):
        filled.write_text(f"broken {number}")
        Store(filled).close()
    kept = {path.read_text() for path in filled.parent.glob("chats.db.corrupt-*")}
    assert kept == {"broken 0", "broken 1", "broken 2"}


def read_and_write(store):
    for _ in range(9):
        talk(store, "x" * 100_000)
        store.whole(1)


@pytest.mark.parametrize("meet", [lambda store: store.back_up(older_than_s=0), read_and_write])
def test_a_large_file_is_checked_when_it_was_found_damaged(filled, monkeypatch, meet):
    monkeypatch.setattr(opening, "_MAX_CHECKED_BYTES", 0)
    smash(filled)
    store = opened(filled)  # read from end to end by the daily backup only
    with pytest.raises(StorageError, match="damaged"):
        meet(store)
    store.close()
    again = opened(filled)
    assert "restored" in again.notice
    again.close()
    assert not files.suspect(filled).exists()


INDEX = {
    "pages of its text": "UPDATE message_text_data SET block = x'00'",
    "half of it": "DELETE FROM message_text_data WHERE id > 10",
    "all of it": "DELETE FROM message_text_data",
    "random": "UPDATE message_text_data SET block = randomblob(length(block))",
    "its settings": "DELETE FROM message_text_config",
}


@pytest.mark.parametrize("damage", INDEX)
def test_a_damaged_search_index_is_made_again_and_costs_no_message(filled, damage):
    with closing(sqlite3.connect(filled, isolation_level=None)) as sql:
        sql.execute(INDEX[damage])
    with pytest.raises(StorageError, match="start it again"):
        talk_and_search(filled)
    again = opened(filled)
    assert again.notice is None
    assert [each.messages for each in again.summaries("19 19")] == [40]
    talk(again, "goes on")
    assert again.summaries("goes on")
    again.close()
    assert integrity(filled) == "ok"
    assert not files.suspect(filled).exists()


def talk_and_search(path):
    with closing(Store(path)) as store:
        talk(store, "new")
        store.summaries("answer")


def test_a_length_that_no_memory_has_room_for_is_a_damage(filled):
    store = opened(filled)
    with pytest.raises(StorageError, match="start it again"), store._database.reading():
        raise MemoryError
    assert files.suspect(filled).exists()


def test_an_index_is_not_made_again_under_another_instance(filled):
    other = opened(filled)
    _, answer = answering(other)
    files.suspect(filled).touch()
    Store(filled).close()
    assert files.suspect(filled).exists()
    end(other, answer.id, "xylophone")
    assert other.summaries("xylophone")


def test_nothing_is_moved_from_under_another_instance(filled):
    other = opened(filled)
    smash(filled)
    with pytest.raises(StorageError, match="Close every other specchat"):
        Store(filled)
    assert list(filled.parent.glob("*corrupt*")) == []
    other.close()
    store = opened(filled)
    assert "restored" in store.notice


def test_a_file_that_is_gone_is_noticed_when_there_are_backups(filled):
    filled.unlink()
    store = opened(filled)
    assert "was missing" in store.notice
    assert str(backups.backups(filled)[0]) in store.notice


def test_the_database_of_another_program_is_left_alone(path):
    path.parent.mkdir()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE recipes (name)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StorageError, match="another program"):
        Store(path)
    assert path.read_bytes() == before


def test_a_newer_database_is_refused_and_left_alone(filled):
    other = sqlite3.connect(filled)
    other.execute("PRAGMA user_version = 99")
    other.close()
    before = filled.read_bytes()
    with pytest.raises(StorageError, match=r"newer specchat \(its version is 99"):
        Store(filled)
    assert filled.read_bytes() == before


def test_a_locked_database_is_said_to_be_locked_and_is_not_taken_for_damaged(filled, monkeypatch):
    monkeypatch.setattr(database, "BUSY_MS", 100)
    other = sqlite3.connect(filled)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StorageError, match="locked by another"):
        Store(filled)
    other.execute("ROLLBACK")
    store = opened(filled)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StorageError, match="locked by another"):
        store.begin()
    other.close()
    assert store.begin()
    store.close()
    assert list(filled.parent.glob("*corrupt*")) == []


@pytest.mark.parametrize("kind", ["folder", "pipe", "link to nowhere"])
def test_what_is_not_a_file_is_refused(path, kind):
    path.parent.mkdir()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/nowhere/at/all")
    with pytest.raises(StorageError):
        Store(path)


def test_instances_that_use_different_names_of_one_file_see_each_other(filled, tmp_path):
    link = tmp_path / "link.db"
    link.symlink_to(filled)
    one = opened(filled)
    conversation = one.begin()
    one.answers.begin(conversation, one.ask(conversation, None, "Hi").id, "tiny")
    other = opened(link)
    assert other.path(conversation)[-1].state == "streaming"


def test_a_file_that_cannot_be_written_can_still_be_read(commoner):
    path = commoner / "data" / "chats.db"
    store = opened(path)
    conversation, _ = talk(store, "kept")
    store.close()
    path.chmod(0o400)
    store = opened(path)
    assert "nothing new is kept" in store.notice
    assert not store.saves
    assert contents(store, conversation) == ["kept", "Answer to kept"]
    assert store.summaries("kept")
    with pytest.raises(StorageError, match="cannot be written"):
        store.begin()
    spare = opened()
    (taken,) = spare.take_in([store.whole(conversation)])
    assert contents(spare, taken.number) == contents(store, conversation)


def test_a_folder_that_cannot_be_written_can_still_be_read(commoner):
    path = commoner / "data" / "chats.db"
    store = opened(path)
    talk(store, "kept")
    store.close()
    path.parent.chmod(0o500)
    store = opened(path)
    assert store.summaries()
    with pytest.raises(StorageError, match="cannot be written"):
        store.begin()


def test_a_folder_that_cannot_be_used_is_named(commoner):
    closed = commoner / "closed"
    closed.mkdir(mode=0o500)
    for path in (closed / "chats.db", closed / "new" / "chats.db"):
        with pytest.raises(StorageError, match="closed"):
            Store(path)
    closed.chmod(0)
    with pytest.raises(StorageError, match="closed"):
        Store(closed / "chats.db")
    assert present(closed / "chats.db")
    with pytest.raises(StorageError, match="/dev/null"):
        Store(files.Path("/dev/null/chats.db"))


def test_without_a_home_there_is_no_place(monkeypatch):
    monkeypatch.delenv("SPECCHAT_HOME", raising=False)
    monkeypatch.setattr("assistant.store.files.data_dir", lambda: files.Path("~/data"))
    with pytest.raises(StorageError, match="SPECCHAT_HOME"):
        place()


def test_a_full_disk_loses_nothing_that_was_kept(store, path):
    conversation, records = talk(store, "kept")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, limits[1]))
    try:
        with pytest.raises(StorageError, match="kept before is safe"):
            read_and_write(store)
        assert store.path(conversation)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    store.ask(conversation, records[-1].id, "room again")
    assert contents(store, conversation) == ["kept", "Answer to kept", "room again"]
    assert integrity(path) == "ok"


def test_a_full_disk_leaves_no_half_made_store(path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, limits[1]))
    try:
        with pytest.raises(StorageError):
            Store(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    store = opened(path)
    talk(store, "now it fits")
    assert store.notice is None


def test_the_journal_is_the_one_that_is_safe_with_the_version_of_sqlite(store):
    assert database.journal_mode((3, 40, 1)) == "TRUNCATE"
    assert database.journal_mode((3, 51, 2)) == "TRUNCATE"
    assert database.journal_mode((3, 51, 3)) == "WAL"
    with store._database.alone() as sql:
        settings = {
            name: sql.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("synchronous", "secure_delete", "foreign_keys", "busy_timeout")
        }
    assert settings == {
        "synchronous": 2,
        "secure_delete": 1,
        "foreign_keys": 1,
        "busy_timeout": database.BUSY_MS,
    }
