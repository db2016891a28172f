import json
import random
import sqlite3
import zlib
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from assistant.events import Alternative, Origin, RejectedToken, Stats, Step, Tally, Token
from assistant.store.messages import UNPACK, pack_trace, unpack_trace
from assistant.store.values import Attachment, title_from
from models.errors import StorageError
from tests.assistant.store import conversations
from tests.assistant.store.conversations import answering, contents, opened, step, talk, trace
from tests.stored import ask, end, stream


def test_questions_and_answers_are_there_after_closing(path):
    store = opened(path)
    conversation, records = talk(store, "Hello", "And now?")
    store.close()
    again = opened(path)
    assert again.path(conversation) == tuple(records)
    assert again.system(conversation) == "Be brief."
    assert again.trace(records[1].id) == trace(2)
    assert (records[1].stats, records[1].token_ids) == (conversations.STATS, (1, 2))


def test_an_answer_has_what_was_streamed_until_it_ends(store):
    conversation, answer = answering(store)
    assert (answer.state, answer.content, answer.model) == ("streaming", "", "tiny")
    rounds = trace(9)
    for size in (2, 2, 5):
        stream(store, answer.id, "word" * size, rounds[:size])
        last = store.path(conversation)[-1]
        assert (last.content, last.state) == ("word" * size, "streaming")
        assert store.trace(answer.id) == rounds[:size]
    ended = end(store, answer.id, "all", rounds, "stopped", stop="cancelled")
    assert (ended.state, ended.stop, ended.content) == ("stopped", "cancelled", "all")
    assert store.trace(answer.id) == rounds
    for other in ((step(100), step(101)), (step(102),)):  # another trace replaces it
        stream(store, answer.id, "b", other)
        assert store.trace(answer.id) == other


@pytest.mark.parametrize("text", ["", "\0", "a\0b", "\x1b]0;x\x07", "\ud800 half", "𝒳" * 1000])
def test_any_text_can_be_kept(store, text):
    conversation, records = talk(store, text)
    kept = text.replace("\ud800", "\ufffd")
    assert store.path(conversation)[0].content == kept
    store.remember("draft", "something else")
    store.remember("draft", text)
    assert store.recall("draft") == kept
    store.rename(conversation, text)
    assert len(records) == 2


def test_a_message_follows_only_one_of_its_own_conversation_and_what_is_missing_is_said_so(store):
    one, records = talk(store, "one")
    other = store.create()
    with pytest.raises(StorageError, match="another conversation"):
        ask(store, other, records[0].id, "stray")
    with pytest.raises(StorageError, match="no message 99"):
        ask(store, one, 99, "stray")
    with pytest.raises(StorageError, match="no conversation 99"):
        ask(store, 99, None, "stray")
    assert contents(store, other) == []
    for look in (store.path, store.system, store.whole, lambda id_: store.rename(id_, "x")):
        with pytest.raises(StorageError, match="no conversation 5"):
            look(5)
    writes = (lambda id_: stream(store, id_, "")), (lambda id_: end(store, id_, ""))
    for look in (store.choose, store.drop, store.restore, store.fork, *writes):
        with pytest.raises(StorageError, match="no message 5"):
            look(5)


def test_a_damaged_trace_leaves_its_answer_readable(store):
    conversation, records = talk(store, "Hi")
    with store._database.connection() as sql:
        sql.execute("UPDATE trace SET packed = x'00'")
    with pytest.raises(StorageError, match="damaged"):
        store.trace(records[1].id)
    assert store.path(conversation)[1].content == "Answer to Hi"
    packed = pack_trace(trace(3))
    chance = random.Random(1)
    for _ in range(300):
        broken = bytearray(packed)
        broken[chance.randrange(len(broken))] ^= 1 << chance.randrange(8)
        with suppress(StorageError):
            assert unpack_trace(bytes(broken)) == trace(3)  # a bit of padding, which nothing reads


def test_a_title_is_the_first_line_shortened_at_a_word():
    assert title_from("\n\n  What   is\ta KV cache?\nTell me.") == "What is a KV cache?"
    assert title_from("word " * 50) == f"{'word ' * 11}word…"
    assert title_from("x" * 10_000_000) == f"{'x' * 60}…"
    assert title_from(" \n ") == ""


def test_the_first_message_names_a_conversation_until_somebody_does(store):
    conversation, _ = talk(store, "First question", "Second")
    assert store.summaries()[0].title == "First question"
    store.rename(conversation, "Mine\nall mine")
    assert store.summaries()[0].title == "Mine all mine"
    store.rename(conversation, "")
    assert store.summaries()[0].title == "First question"
    named = store.create("Named")
    ask(store, named, None, "Hello")
    assert store.summaries()[0].title == "Named"


def test_the_record_that_is_returned_is_the_record_that_is_read(store):
    conversation = store.create()
    question = ask(store, conversation, None, "Hi")
    assert store.path(conversation) == (question,)
    again = ask(store, conversation, None, "Hi, better")
    assert again.siblings == (question.id, again.id)
    assert store.path(conversation) == (again,)
    store.choose(question.id)
    assert store.path(conversation) == (replace(question, siblings=again.siblings),)


DAMAGE = {
    "figures that are none": "UPDATE message SET stats = x'c1c1' WHERE role = 'assistant'",
    "figures of another kind": "UPDATE message SET stats = x'930102' WHERE role = 'assistant'",
    "a letter in figures": "UPDATE message SET stats = x'81a46d6f6465a1ff'",
    "kinds of values": "UPDATE message SET stats = 1, token_ids = 'a', attachments = 1, calls = 1",
    "half a token": "UPDATE message SET token_ids = x'010203' WHERE role = 'assistant'",
    "an attachment": "UPDATE message SET attachments = x'00112233' WHERE role = 'user'",
    "a letter": "UPDATE message SET content = CAST(x'ff' || content AS TEXT)",
    "a title": "UPDATE conversation SET title = CAST(x'ff' || title AS TEXT)",
    "dates that no calendar has": "UPDATE conversation SET updated = 1e12, created = 'x'",
    "how it came about": "UPDATE trace SET packed = x'789c00'",
    "what it follows": "UPDATE message SET parent = (SELECT max(id) FROM message)",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_value_hides_nothing_but_itself(path, damage):
    """SQLite's own checks do not look into values."""
    store = opened(path)
    conversation, records = talk(store, "Why?", "And then?")
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as sql:
        sql.execute(DAMAGE[damage])
    store = opened(path)
    (summary,) = store.summaries()
    whole = store.whole(conversation)
    dates = [*(record.created for record in whole.messages), summary.updated, whole.created]
    assert max(map(datetime.fromtimestamp, dates))
    texts = [message.content.strip("\ufffd") for message in whole.messages]
    assert texts == [record.content for record in records]
    assert store.path(store.fork(records[-1].id))[-1].content.endswith("Answer to And then?")
    assert len(store.path(conversation)) in (1, 4)
    assert store.prompts()
    store.choose(records[0].id)
    store.drop(records[0].id)


def test_attachments_come_back_and_a_damaged_one_says_so(store, path):
    attachments = (Attachment("a.txt", "one\0\x1b[31m"), Attachment("b.py", "x" * 100_000))
    conversation = store.create()
    question = ask(store, conversation, None, "Look", attachments)
    assert question.attachments == store.path(conversation)[0].attachments == attachments
    with closing(sqlite3.connect(path, isolation_level=None)) as sql:
        sql.execute("UPDATE message SET attachments = x'00'")
    (attachment,) = store.path(conversation)[0].attachments
    assert "damaged" in attachment.text


# Blobs that earlier versions stored can be read.

FIGURES = Stats(
    "sps", 2, 6, 5, 3, 9, 4, 5, 0.5, 0.25, 2.0, {3: 2}, 0.5, 1.0, 0.0, (Tally(2, 1),),
    {"model": Tally(5, 3)}, "tiny",
)  # fmt: skip
ATTACHMENTS = (Attachment("a.py", "x = 1"),)
TOP = (Alternative(7, "Hi", 0.5),)
STEPS = (
    Step(
        (
            Token(7, "Hi", Origin.DRAFT, "model", 0.5, 0.25, 0, 0.125, TOP),
            Token(8, "!", Origin.RESIDUAL, "model", 0.75, 0.5, 1),
        ),
        (RejectedToken(9, "?", "model", 1, 0.5, None, 0.9, 0.75),),
    ),
)
STORED = json.loads(Path(__file__).with_name("blobs.json").read_text())
"""What the first versions wrote, in hexadecimal digits."""


def test_values_that_the_first_versions_stored_are_read() -> None:
    stored = {name: bytes.fromhex(digits) for name, digits in STORED.items()}
    assert UNPACK["stats"](stored["stats"]) == replace(FIGURES, engine="llama")
    assert UNPACK["attachments"](zlib.compress(stored["attachments"])) == ATTACHMENTS
    assert unpack_trace(zlib.compress(stored["trace"])) == STEPS
