"""Thoughts in the store: beside their answers, and with them wherever those go."""

from assistant.events import Stats
from assistant.store import Store
from assistant.store.exports import json_lines, markdown, read_json_lines
from tests.stored import ask, begin, end


def thinking(store: Store) -> int:
    """Keep a question and an answer that was thought about, and return the conversation."""
    chat = store.begin()
    asked = ask(store, chat, None, "Why is the sky blue?")
    answer = begin(store, chat, asked.id, "m")
    store.answers.stream(answer.id, "", (), "Rayl")
    assert store.path(chat)[-1].thought == "Rayl"
    thought = "Rayleigh?\nYes."
    end(store, answer.id, "It scatters.", (1,), (), Stats("ars"), "stop-token", "complete", thought)
    return chat


def test_a_thought_is_kept_apart_and_goes_where_its_answer_goes():
    store = Store(None)
    chat = thinking(store)
    exported = [*read_json_lines(json_lines(store.whole(chat)))]
    copies = [
        store.fork(store.path(chat)[-1].id),
        *(t.number for t in Store(None).take_in(exported)),
    ]
    assert store.path(chat)[-1].content == "It scatters."
    assert (
        store.path(copies[0])[-1].thought == exported[0].messages[-1].thought == "Rayleigh?\nYes."
    )
    assert "> Rayleigh?\n> Yes.\n\nIt scatters." in markdown(store.whole(chat))


def test_a_thought_is_found_and_the_answer_is_shown_first():
    store = Store(None)
    thinking(store)
    for search, snippet in (("rayleigh", "Rayleigh? Yes."), ("scatters", "It scatters.")):
        assert [each.snippet for each in store.summaries(search)] == [snippet]
    assert store.summaries("ラ") == ()
