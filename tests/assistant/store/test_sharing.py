"""Two programs use one store, and lose nothing of each other's."""

import pytest

from assistant.store.database import BUSY_MS  # before tests replace it
from assistant.store.store import Store
from models.errors import StorageError
from tests.assistant.store.conversations import answering, contents, opened, talk
from tests.stored import ask, stream


@pytest.fixture
def neighbour(store: Store, path) -> Store:
    """Another program's."""
    return opened(path)


def test_a_write_waits_longer_than_another_program_rewrites_a_large_file():
    """It takes 5 to 15 seconds for 500 MB; a chat that gives up is not saved from then on."""
    assert BUSY_MS >= 30_000


def test_messages_of_two_programs_below_one_message_become_branches(store, neighbour):
    conversation, records = talk(store, "Hi")
    for number in range(20):
        ask(neighbour, conversation, records[-1].id, f"theirs {number}")
        ask(store, conversation, records[-1].id, f"ours {number}")
    expected = {f"{whose} {number}" for whose in ("ours", "theirs") for number in range(20)}
    assert {record.content for record in store.tree(conversation)} >= expected
    assert len(store.path(conversation)[-1].siblings) == 40


def test_a_deleted_conversation_can_be_continued_in_another_program(store, neighbour, path):
    conversation, _ = talk(store, "Hi")
    store.delete(conversation)
    store.close()
    ask(neighbour, conversation, neighbour.path(conversation)[-1].id, "and I am not done")
    assert [each.id for each in neighbour.summaries()] == [conversation]
    neighbour.delete(conversation)
    assert contents(neighbour, conversation)[-1] == "and I am not done"
    neighbour.close()
    assert path.read_bytes().count(b"and I am not done") == 0
    with pytest.raises(StorageError, match="no conversation 1"):
        opened(path).path(conversation)


def test_a_conversation_removed_for_good_is_said_to_be_gone_where_it_is_open(store, neighbour):
    conversation, answer = answering(neighbour)
    store.remove(conversation)
    with pytest.raises(StorageError, match="deleted for good"):
        ask(neighbour, conversation, answer.id, "Still there?")
    with pytest.raises(StorageError, match="deleted for good"):
        stream(neighbour, answer.id, "so far")
