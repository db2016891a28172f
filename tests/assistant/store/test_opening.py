import os
import resource
import sqlite3
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from assistant.store import database, files
from assistant.store.files import present
from assistant.store.store import Store
from models.errors import StorageError
from tests.assistant.store import conversations
from tests.assistant.store.conversations import contents, integrity, opened, smash, talk
from tests.stored import ask, begin

CORRUPTIONS = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("Dear diary,\n" * 500),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "header only": lambda path: os.truncate(path, 100),
    "truncated": lambda path: os.truncate(path, path.stat().st_size // 3),
    "truncated in a page": lambda path: os.truncate(path, path.stat().st_size - 4000),
    "pages smashed": smash,
    "random": lambda path: path.write_bytes(os.urandom(50_000)),
}


@pytest.fixture
def filled(path):
    """A closed store of forty messages, with a backup."""
    store = opened(path)
    talk(store, *(f"{number} " * 300 for number in range(20)))
    store.close()
    return path


@pytest.mark.parametrize("backed_up", [True, False])
@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_a_damaged_file_is_kept_aside_and_its_backup_restored(filled, corruption, backed_up):
    if not backed_up:
        files.discard_backup(filled)
    CORRUPTIONS[corruption](filled)
    broken = filled.read_bytes()
    store = opened(filled)
    if broken or backed_up:  # an empty file is a new one, unless there is a backup
        (aside,) = filled.parent.glob("chats.db.corrupt-*")
        assert aside.read_bytes() == broken
        instead = str(files.backup_path(filled)) if backed_up else "starts empty"
        assert all(text in str(store.warning) for text in (str(aside), instead))
    assert [each.messages for each in store.summaries()] == [40] * backed_up
    talk(store, "goes on")
    store.close()
    assert integrity(filled) == "ok"
    assert opened(filled).warning is None


def test_a_damaged_backup_is_not_restored(filled):
    for path in (filled, files.backup_path(filled)):
        smash(path)
    assert "there was no backup" in str(opened(filled).warning)


def test_two_damages_in_one_second_overwrite_nothing(filled):
    for number in range(3):
        filled.write_text(f"broken {number}")
        Store(filled).close()
    kept = {path.read_text() for path in filled.parent.glob("chats.db.corrupt-*")}
    assert kept == {"broken 0", "broken 1", "broken 2"}


INDEX = {
    "pages of its text": "UPDATE message_text_data SET block = x'00'",
    "half of it": "DELETE FROM message_text_data WHERE id > 10",
    "all of it": "DELETE FROM message_text_data",
    "random": "UPDATE message_text_data SET block = randomblob(length(block))",
    "its settings": "DELETE FROM message_text_config",
}


@pytest.mark.parametrize("damage", INDEX)
def test_a_damaged_search_index_is_rebuilt_and_costs_no_message(filled, damage):
    with closing(sqlite3.connect(filled, isolation_level=None)) as sql:
        sql.execute(INDEX[damage])
    store = opened(filled)
    assert store.warning is None
    talk(store, "goes on")
    assert store.summaries("goes on")
    assert [each.messages for each in store.summaries("19 19")] == [40]
    store.close()
    assert integrity(filled) == "ok"


def test_a_length_that_no_memory_has_room_for_is_a_damage(store):
    with pytest.raises(StorageError, match="start one again"), store._database.connection():
        raise MemoryError


def test_nothing_is_moved_from_under_another_program(filled):
    opened(filled)
    smash(filled)
    with pytest.raises(StorageError, match="Close every specchat"):
        opened(filled).whole(1)
    assert list(filled.parent.glob("*corrupt*")) == []
    while conversations.open_stores:
        conversations.open_stores.pop().close()
    assert "restored" in str(opened(filled).warning)


def test_a_file_that_is_gone_is_restored_from_its_backup(filled):
    filled.unlink()
    store = opened(filled)
    assert "was missing" in str(store.warning)
    assert str(files.backup_path(filled)) in str(store.warning)
    assert store.summaries()[0].messages == 40


def test_the_database_of_another_program_is_left_alone(path):
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE recipes (name)")
    before = path.read_bytes()
    with pytest.raises(StorageError, match="another program"):
        Store(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [99, 2**31 - 1, 2, 1, 0, -1])
def test_a_database_of_another_version_is_refused_and_left_alone(filled, version):
    with closing(sqlite3.connect(filled)) as sql:
        sql.execute(f"PRAGMA user_version = {version}")
    before = filled.read_bytes()
    with pytest.raises(StorageError, match=f"has version {version}, and this .* version 3"):
        Store(filled)
    assert filled.read_bytes() == before
    filled.rename(filled.with_name("elsewhere.db"))
    assert "restored" in str(opened(filled).warning)


def test_a_locked_database_is_said_to_be_locked_and_is_not_taken_for_damaged(filled, monkeypatch):
    monkeypatch.setattr(database, "BUSY_MS", 100)
    other = sqlite3.connect(filled)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StorageError, match="locked by another"):
        Store(filled)
    with closing(database.connect(filled)) as sql, pytest.raises(sqlite3.OperationalError):
        database.check(sql)
    other.execute("ROLLBACK")
    store = opened(filled)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StorageError, match="locked by another"):
        store.create()
    other.close()
    assert store.create()
    store.close()
    assert list(filled.parent.glob("*corrupt*")) == []


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: path.symlink_to("/no/where")])
def test_a_store_that_is_not_a_file_is_refused(path, make):
    path.parent.mkdir()
    make(path)
    with pytest.raises(StorageError):
        Store(path)


def test_a_link_instead_of_the_lock_makes_no_file_elsewhere(path, tmp_path):
    path.parent.mkdir()
    path.with_suffix(".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError):
        Store(path)
    assert not (tmp_path / "elsewhere").exists()


LINKED = {
    "text": b"Dear diary,\n" * 500,
    "empty": b"",
    "a header and no database": b"SQLite format 3\0" + b"x" * 5000,
    "data": bytes(range(256)) * 100,
}


@pytest.mark.parametrize("backed_up", [True, False])
@pytest.mark.parametrize("content", LINKED.values(), ids=LINKED)
def test_the_target_of_a_link_is_never_moved_or_changed(filled, tmp_path, content, backed_up):
    target = tmp_path / "elsewhere" / "notes.txt"
    target.parent.mkdir()
    target.write_bytes(content)
    target.chmod(0o644)
    filled.unlink()
    filled.symlink_to(target)
    if not backed_up:
        files.discard_backup(filled)
    with pytest.raises(StorageError, match=r"notes\.txt, to which it points, .* left as it is"):
        Store(filled)
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (content, 0o644)
    assert list(target.parent.iterdir()) == [target]
    assert filled.readlink() == target


def test_instances_that_use_different_names_of_one_file_see_each_other(filled, tmp_path):
    link = tmp_path / "link.db"
    link.symlink_to(filled)
    one = opened(filled)
    conversation = one.create()
    begin(one, conversation, ask(one, conversation, None, "Hi").id, "tiny")
    assert opened(link).path(conversation)[-1].state == "streaming"


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_store_that_cannot_be_written_can_still_be_read(commoner, what):
    path = commoner / "data" / "chats.db"
    store = opened(path)
    conversation, _ = talk(store, "kept")
    store.close()
    (path if what == "file" else path.parent).chmod(0o400 if what == "file" else 0o500)
    store = opened(path)
    assert ("nothing new is kept" in str(store.warning), store.saves) == (True, False)
    assert contents(store, conversation) == ["kept", "Answer to kept"]
    assert store.summaries("kept")
    with pytest.raises(StorageError, match="cannot be opened or written"):
        store.create()


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
        Store(Path("/dev/null/chats.db"))


@pytest.fixture
def full(path, monkeypatch):
    """A context in which no file may become larger than a store is now."""
    # Python would write modules that it compiles meanwhile, and take a cut one for whole.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    @contextmanager
    def limited(size=None):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size or path.stat().st_size, limits[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    return limited


def test_a_full_disk_loses_nothing_that_was_kept_not_even_when_it_is_opened(path, full):
    store = opened(path)
    conversation, records = talk(store, "kept")
    begin(store, conversation, records[0].id, "tiny")  # and the program dies
    store.choose(records[-1].id)
    store.close()
    with full():
        store = opened(path)
        with pytest.raises(StorageError, match="kept before is safe"):
            talk(store, "x" * 1_000_000)
        assert contents(store, conversation) == ["kept", "Answer to kept"]
    ask(store, conversation, records[-1].id, "room again")
    assert contents(store, conversation) == ["kept", "Answer to kept", "room again"]
    assert integrity(path) == "ok"


def test_a_full_disk_leaves_no_half_made_store(path, full):
    with full(8192), pytest.raises(StorageError):
        Store(path)
    store = opened(path)
    talk(store, "now it fits")
    assert store.warning is None


def test_the_database_syncs_every_write_and_overwrites_deleted_rows(store):
    settings = {"journal_mode": "truncate", "synchronous": 2, "fullfsync": 1, "secure_delete": 1}
    with store._database.connection() as sql:
        for name, value in {**settings, "foreign_keys": 1}.items():
            assert sql.execute(f"PRAGMA {name}").fetchone()[0] == value, name


# Backups


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
