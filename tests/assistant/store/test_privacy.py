import stat
from unittest.mock import Mock

import pytest

from assistant.store import files, purging
from assistant.store.purging import purge
from assistant.store.store import Store
from assistant.store.values import TOOLS_OF, unsent
from models.errors import StorageError
from models.files import snapshots
from tests.assistant.store.conversations import opened, talk, trace
from tests.stored import begin, end, stream

SECRET = "xylophone-canary"


def holding(folder, secret=SECRET):
    """The files below a folder in which a secret can be read."""
    forms = {form.encode() for form in (secret, secret.upper(), *secret.split("-"))}
    return [
        path.name
        for path in folder.rglob("*")
        if path.is_file() and any(form in path.read_bytes() for form in forms)
    ]


def test_a_file_that_others_may_read_is_made_private(path):
    Store(path).close()
    path.chmod(0o644)
    Store(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_conversation_deleted_for_good_is_in_no_file(path):
    store = opened(path)
    for number in range(30):
        talk(store, f"harmless {number} " + "filler " * 200)
    conversation, records = talk(store, f"Look: {SECRET}", "more")
    for size in range(1, 6):
        stream(store, records[1].id, f"{SECRET} " * size * 300, trace(size))
    end(store, records[1].id, f"{SECRET} " * 10, trace(3))
    store.rename(conversation, SECRET)
    store.back_up()
    assert holding(path.parent)
    store.delete(conversation)
    purge(store._database)
    assert holding(path.parent) == []
    assert not files.backup_path(path).exists()
    store.close()
    assert files.backup_path(path).exists()
    assert holding(path.parent) == []
    assert len(opened(path).summaries()) == 30


def test_a_dropped_message_is_deleted_for_good_with_its_unsent_text(store, path):
    (gone, _), (kept, records) = talk(store, "gone"), talk(store, "fine", f"three {SECRET}")
    store.remember(unsent(gone, None), f"one {SECRET}")
    store.remember(f"{TOOLS_OF}{gone}", f"three {SECRET}")
    store.remember(unsent(kept, records[2].id), f"two {SECRET}")
    store.remember(unsent(kept, None), "stays here")
    store.remember(unsent(None, None), "stays too")
    store.delete(gone)
    store.drop(records[2].id)
    assert holding(path.parent)
    purge(store._database)
    assert holding(path.parent) == []
    assert store.recall(unsent(kept, None)) == "stays here"
    assert store.recall(unsent(None, None)) == "stays too"
    assert [chat.messages for chat in store.summaries()] == [2]


def test_conversations_are_removed_by_one_rewrite_while_another_can_still_be_undeleted(
    store, path, monkeypatch
):
    """Each takes ten seconds for 500 MB."""
    gone = [talk(store, SECRET)[0] for _ in range(3)]
    rewritten, vacuum = list[object](), purging._vacuum
    kept, deleted = (talk(store, text)[0] for text in ("stays", "two"))
    monkeypatch.setattr(purging, "_vacuum", lambda base: rewritten.append(vacuum(base)))
    store.delete(deleted)
    store.remove(*gone)
    store.remove()
    assert holding(path.parent) == []
    assert len(rewritten) == 1
    store.undelete(deleted)
    assert [each.id for each in store.summaries()] == [deleted, kept]


def test_a_deleted_conversation_is_in_no_backup_of_a_file_that_stays(store, path, monkeypatch):
    """A full disk may have no room for that."""
    conversation, _ = talk(store, SECRET)
    store.back_up()
    monkeypatch.setattr(purging, "_vacuum", Mock(side_effect=StorageError("The disk is full.")))
    with pytest.raises(StorageError, match="full"):
        store.remove(conversation)
    assert not files.backup_path(path).exists()


# KV snapshots are deleted when a conversation is deleted for good.


@pytest.fixture
def snapshot():
    written = snapshots.Snapshots(snapshots.folder(), "a model", 1 << 20)
    written.write([1, 2, 3], memoryview(b"state"))
    written.close()
    (path,) = snapshots.folder().iterdir()
    return path


@pytest.mark.parametrize("alone", [True, False])
def test_snapshots_go_with_a_conversation_that_is_deleted_for_good(store, snapshot, alone):
    conversation, _ = talk(store, "Hello")
    talk(store, "Another")
    purge(store._database)
    assert snapshot.exists()  # there was nothing to delete
    if alone:
        store.remove(conversation)
    else:
        store.delete(conversation)
        assert snapshot.exists()  # it can still be undone
        purge(store._database)
    assert not snapshot.exists()
    assert len(store.summaries()) == 1


def test_an_answer_that_was_cancelled_before_its_first_word_costs_no_snapshots(store, snapshot):
    """To delete it for good would rewrite the whole file, and every conversation be read again."""
    conversation, (question, _) = talk(store, "Hello")
    store.drop(begin(store, conversation, question.id, "tiny").id)
    store.close()
    assert snapshot.exists()


def test_a_store_in_memory_leaves_them_alone_and_nothing_on_disk(snapshot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store, before = opened(), [*tmp_path.rglob("*")]
    conversation, _ = talk(store, "Hello")
    assert (store.saves, store.back_up()) == (False, None)
    store.delete(conversation)
    purge(store._database)
    store.close()
    assert [*tmp_path.rglob("*")] == before


def test_without_their_going_nothing_is_deleted_for_good(store, snapshot, monkeypatch):
    conversation, _ = talk(store, "Hello")
    store.delete(conversation)
    denied = PermissionError(13, "Permission denied", str(snapshot))
    with monkeypatch.context() as broken:
        broken.setattr(snapshots, "discard", Mock(side_effect=denied))
        with pytest.raises(StorageError, match=r"Nothing was deleted.*snapshots"):
            purge(store._database)
    store.undelete(conversation)
    assert len(store.path(conversation)) > 0
