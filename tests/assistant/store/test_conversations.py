"""Conversations in the store: their list, their branches, deletion and restoration."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from assistant.store.purging import purge
from assistant.store.store import Store
from models.errors import StorageError
from tests.assistant.store.conversations import contents, fill, talk, trace
from tests.stored import ask, begin, end


def listed(store: Store) -> list[int]:
    return [each.id for each in store.summaries()]


def test_pinned_conversations_come_first_then_the_newest(store):
    one, two, three = (talk(store, text)[0] for text in ("one", "two", "three"))
    assert listed(store) == [three, two, one]
    # As by a clock that was wrong for a while.
    store._database.write(lambda sql: sql.execute("UPDATE conversation SET updated = 9e9"))
    fork = store.fork(store.path(one)[-1].id)
    assert listed(store)[0] == fork
    store.delete(fork)
    ask(store, one, store.path(one)[-1].id, "again")
    assert listed(store) == [one, three, two]
    store.append(two, replace(store.path(two)[-1], parent=None, created=0.0))  # it is set back
    assert listed(store) == [two, one, three]
    assert all(each.updated > 1e9 for each in store.summaries())
    store.pin(three)
    assert listed(store) == [three, two, one]
    store.pin(three, False)
    assert listed(store) == [two, one, three]
    assert [(each.id, each.messages) for each in store.summaries(limit=1)] == [(two, 3)]


def test_a_deleted_conversation_is_not_listed_until_it_is_undeleted(store):
    one, two = (talk(store, text)[0] for text in ("one", "two"))
    store.delete(two)
    assert (listed(store), store.summaries("two"), store.prompts()) == ([one], (), ("one",))
    store.undelete(two)
    assert listed(store) == [two, one]
    assert store.summaries("two")


def test_prompts_are_what_was_sent_oldest_first_nothing_twice_in_a_row(store):
    _, records = talk(store, "a", "b", "b", "a")
    store.fork(records[-1].id)
    assert (store.prompts(), store.prompts(2)) == (("a", "b", "a"), ("b", "a"))
    store.drop(records[-2].id)
    assert store.prompts(1) == ("a",)


def test_threads_take_turns(store):
    conversation = store.create()

    def write(name: int) -> None:
        for number in range(40):
            question = ask(store, conversation, None, f"{name} {number}")
            store.path(conversation)
            end(store, begin(store, conversation, question.id, "").id, "x")

    with ThreadPoolExecutor(5) as threads:
        [*threads.map(write, range(5))]
    assert store.summaries()[0].messages == 400


@pytest.fixture
def tree(store: Store):
    """a -> A, then b -> B or c -> C, where it stands."""
    conversation, first = talk(store, "a", "b")
    question = ask(store, conversation, first[1].id, "c")
    answer = begin(store, conversation, question.id, "tiny")
    return conversation, [*first, question, end(store, answer.id, "Answer to c")]


B, C = ["a", "Answer to a", "b", "Answer to b"], ["a", "Answer to a", "c", "Answer to c"]


def test_a_message_that_is_chosen_is_followed_to_its_newest_end_and_one_dropped_goes_with_it(
    store, tree
):
    conversation, records = tree
    assert contents(store, conversation) == C
    store.choose(records[2].id)
    assert contents(store, conversation) == B
    store.choose(records[0].id)
    assert contents(store, conversation) == C
    assert store.path(conversation)[2].siblings == (records[2].id, records[4].id)
    store.drop(records[4].id)  # it gives way to its sibling
    with pytest.raises(StorageError, match="deleted"):  # another program may still show it
        store.choose(records[4].id)
    assert contents(store, conversation) == B
    assert store.path(conversation)[2].siblings == (records[2].id,)
    store.drop(records[2].id)
    assert contents(store, conversation) == ["a", "Answer to a"]
    store.drop(records[0].id)
    assert contents(store, conversation) == []
    assert store.summaries()[0].messages == 0


def test_restoring_undoes_dropping_and_brings_back_what_is_below_a_hidden_message(store, tree):
    conversation, records = tree
    before = store.tree(conversation)
    for record in (records[4], records[1], records[0]):
        store.drop(record.id)
    for record in (records[0], records[1], records[4]):
        store.restore(record.id)
    assert store.tree(conversation) == before
    assert contents(store, conversation) == C
    store.drop(records[2].id)
    store.drop(records[1].id)
    store.restore(records[2].id)
    assert contents(store, conversation) == ["a"]
    store.restore(records[1].id)
    assert len(store.tree(conversation)) == 6
    store.drop(records[1].id)  # a question below it brings it back
    ask(store, conversation, records[1].id, "d")
    assert contents(store, conversation) == ["a", "Answer to a", "d"]
    purge(store._database)
    assert contents(store, conversation) == ["a", "Answer to a", "d"]


def test_a_fork_is_a_conversation_of_its_own(store, tree):
    conversation, records = tree
    store.pin(conversation)
    store.update(replace(records[3], state="streaming"))  # which the fork's does not
    other = store.fork(records[3].id)
    assert store.path(other)[-1].state == "stopped"
    assert [row.id for row in store.summaries() if row.pinned] == [conversation]
    assert contents(store, other) == B
    again = store.fork(store.path(other)[-1].id)
    assert {row.title for row in store.summaries() if row.id in (other, again)} == {"Fork: a"}
    assert store.system(other) == "Be brief."
    assert store.trace(store.path(other)[1].id) == trace(2)
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
