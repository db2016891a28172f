import threading

from assistant.store import Store
from assistant.store.purging import purge
from tests.assistant.store.talks import opened, talk
from tests.stored import ask, begin, end


def listed(store: Store) -> list[int]:
    return [each.id for each in store.summaries()]


def test_pinned_conversations_come_first_then_the_newest(store):
    one, two, three = (talk(store, text)[0] for text in ("one", "two", "three"))
    assert listed(store) == [three, two, one]
    ask(store, one, store.path(one)[-1].id, "again")
    assert listed(store) == [one, three, two]
    store.pin(two)
    assert listed(store) == [two, one, three]
    store.pin(two, False)
    assert listed(store) == [one, three, two]
    assert [each.id for each in store.summaries(limit=1, offset=1)] == [three]
    assert store.summaries()[0].messages == 3


def test_a_deleted_conversation_is_not_listed_until_it_is_undeleted(store):
    one, two = (talk(store, text)[0] for text in ("one", "two"))
    store.delete(two)
    assert listed(store) == [one]
    assert store.summaries("two") == ()
    assert store.prompts() == ("one",)
    store.undelete(two)
    assert listed(store) == [two, one]
    assert store.summaries("two")


def test_what_is_sent_to_a_deleted_conversation_brings_it_back(store):
    one, records = talk(store, "one")
    store.delete(one)
    ask(store, one, records[-1].id, "still here")
    assert listed(store) == [one]


def test_prompts_are_what_was_sent_oldest_first_nothing_twice_in_a_row(store):
    _, records = talk(store, "a", "b", "b", "a")
    store.fork(records[-1].id)
    assert store.prompts() == ("a", "b", "a")
    assert store.prompts(2) == ("b", "a")
    store.drop(records[-2].id)
    assert store.prompts(1) == ("a",)


def test_notes_are_replaced(store):
    assert store.recall("draft") is None
    store.remember("draft", "half a")
    store.remember("draft", "half a thought")
    assert store.recall("draft") == "half a thought"


def test_a_store_without_a_path_leaves_nothing_on_disk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = opened()
    conversation, _ = talk(store, "one")
    assert not store.saves
    assert store.back_up() is None
    store.delete(conversation)
    purge(store._database)
    store.close()
    assert list(tmp_path.iterdir()) == []


def test_threads_take_turns(store):
    conversation = store.begin()
    failed = []

    def write(name: int) -> None:
        try:
            for number in range(40):
                asked = ask(store, conversation, None, f"{name} {number}")
                store.path(conversation)
                end(
                    store,
                    begin(store, conversation, asked.id, "").id,
                    "x",
                    (),
                    (),
                    None,
                    None,
                    "complete",
                )
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert store.summaries()[0].messages == 400
