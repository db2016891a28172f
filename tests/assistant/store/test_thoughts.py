"""Thoughts in the store: beside their answers, and with them wherever those go."""

import sqlite3

from assistant.events import Stats
from assistant.store import Store, jsonl, schema
from assistant.store.database import transaction
from assistant.store.markdown import markdown


def thinking(store: Store) -> int:
    """Keep a question and an answer that was thought about, and return the conversation."""
    chat = store.begin()
    asked = store.ask(chat, None, "Why is the sky blue?")
    answer = store.answers.begin(chat, asked.id, "m")
    store.answers.stream(answer.id, "", (), "Rayl")
    assert store.path(chat)[-1].thought == "Rayl"
    thought = "Rayleigh?\nYes."
    store.answers.end(
        answer.id, "It scatters.", (1,), (), Stats("ars"), "stop-token", "complete", thought
    )
    return chat


def test_a_thought_is_kept_apart_and_goes_where_its_answer_goes():
    store = Store(None)
    chat = thinking(store)
    exported = [*jsonl.read(jsonl.lines(store.whole(chat)))]
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


def test_conversations_of_the_version_before_are_as_they_were_and_searched_as_ever():
    sql = sqlite3.connect(":memory:", isolation_level=None)
    sql.row_factory = sqlite3.Row
    with transaction(sql):
        schema.MIGRATIONS[0](sql)
        sql.execute("PRAGMA user_version = 1")
    sql.execute("INSERT INTO conversation VALUES (1, '', 0, '', 0, 0, 0, 1, NULL)")
    row = "(1, 1, NULL, NULL, 'user', 0, 'complete', NULL, NULL, '', 'zeppelin', NULL, NULL, NULL)"
    sql.execute(f"INSERT INTO message VALUES {row}")
    schema.migrate(sql)
    assert schema.version(sql) == schema.newest()
    found = "SELECT rowid FROM message_text WHERE message_text MATCH 'zeppelin'"
    assert [*map(tuple, sql.execute(found))] == [(1,)]
    sql.execute("UPDATE message SET content = 'airship', thought = 'hydrogen'")
    assert not sql.execute(found).fetchall()
    assert sql.execute(found.replace("zeppelin", "hydrogen")).fetchall()
    sql.execute("INSERT INTO message_text (message_text) VALUES ('integrity-check')")
