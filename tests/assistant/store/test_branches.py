import pytest

from assistant.store import Store
from assistant.store.purging import purge
from models.errors import StorageError
from tests.assistant.store.talks import contents, fill, talk, trace
from tests.stored import ask, begin, end


@pytest.fixture
def tree(store: Store):
    """a -> A, then b -> B or c -> C, where it stands."""
    conversation, first = talk(store, "a", "b")
    asked = ask(store, conversation, first[1].id, "c")
    answer = begin(store, conversation, asked.id, "tiny")
    ended = end(store, answer.id, "Answer to c")
    return conversation, [*first, asked, ended]


B, C = ["a", "Answer to a", "b", "Answer to b"], ["a", "Answer to a", "c", "Answer to c"]


def test_choosing_a_message_follows_it_to_its_newest_end(store, tree):
    conversation, records = tree
    assert contents(store, conversation) == C
    store.choose(records[2].id)
    assert contents(store, conversation) == B
    store.choose(records[0].id)
    assert contents(store, conversation) == C
    assert store.path(conversation)[2].siblings == (records[2].id, records[4].id)


def test_a_dropped_message_takes_along_what_follows_and_gives_way_to_its_sibling(store, tree):
    conversation, records = tree
    store.drop(records[4].id)
    assert contents(store, conversation) == B
    assert store.path(conversation)[2].siblings == (records[2].id,)
    store.drop(records[2].id)
    assert contents(store, conversation) == ["a", "Answer to a"]
    store.drop(records[0].id)
    assert contents(store, conversation) == []
    assert store.summaries()[0].messages == 0


def test_restoring_undoes_dropping(store, tree):
    conversation, records = tree
    before = store.tree(conversation)
    for record in (records[4], records[1], records[0]):
        store.drop(record.id)
    for record in (records[0], records[1], records[4]):
        store.restore(record.id)
    assert store.tree(conversation) == before
    assert contents(store, conversation) == C


def test_what_is_restored_below_something_hidden_comes_back_with_it(store, tree):
    conversation, records = tree
    store.drop(records[2].id)
    store.drop(records[1].id)
    store.restore(records[2].id)
    assert contents(store, conversation) == ["a"]
    store.restore(records[1].id)
    assert len(store.tree(conversation)) == 6


def test_dropping_elsewhere_leaves_one_where_one_is(store, tree):
    conversation, records = tree
    store.drop(records[2].id)
    assert contents(store, conversation) == C


def test_what_is_sent_below_a_hidden_message_brings_it_back(store, tree):
    conversation, records = tree
    store.drop(records[1].id)
    ask(store, conversation, records[1].id, "d")
    assert contents(store, conversation) == ["a", "Answer to a", "d"]
    purge(store._database)
    assert contents(store, conversation) == ["a", "Answer to a", "d"]


def test_a_fork_is_a_conversation_of_its_own(store, tree):
    conversation, records = tree
    other = store.fork(records[3].id)
    assert contents(store, other) == B
    assert store.system(other) == "Be brief."
    assert store.answers.trace(store.path(other)[1].id) == trace(2)
    ask(store, other, store.path(other)[-1].id, "more")
    assert contents(store, conversation) == C
    store.delete(conversation)
    purge(store._database)
    assert contents(store, other) == [*B, "more"]


def test_five_thousand_messages_in_a_row_can_be_read_dropped_and_purged(store):
    conversation = fill(store, 5000, "x")
    assert len(store.path(conversation)) == 5000
    store.drop(1)
    store.restore(1)
    assert len(store.path(conversation)) == 5000
    store.drop(1)
    purge(store._database)
    with pytest.raises(StorageError, match="no message"):
        store.restore(1)
