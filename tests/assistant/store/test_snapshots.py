"""KV snapshots are deleted when a conversation is deleted for good."""

from unittest.mock import Mock

import pytest

from assistant.store.purging import purge
from models.errors import StorageError
from models.files import snapshots
from tests.assistant.store.conversations import opened, talk
from tests.stored import begin


@pytest.fixture(autouse=True)
def snapshot():
    opened = snapshots.Snapshots(snapshots.folder(), "a model", 1 << 20)
    opened.write([1, 2, 3], memoryview(b"state"))
    opened.close()
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


def test_a_store_in_memory_leaves_them_alone(snapshot):
    store = opened()
    conversation, _ = talk(store, "Hello")
    store.delete(conversation)
    purge(store._database)
    store.close()
    assert snapshot.exists()


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
