"""Thoughts and calls of tools in the store: with their answers, wherever those go."""

from assistant.events import Stats
from assistant.request import ToolCall
from assistant.store import INTERRUPTED, Store
from assistant.store.exports import json_lines, markdown, read_json_lines
from tests.assistant.store.talks import opened
from tests.stored import ask, begin, call, end

READ = ToolCall("files__read", '{"path": "sky.txt"}', "call_1")
LIST = ToolCall("files__list", "{}", "call_2")


def calling(store: Store) -> int:
    """Keep an answer that asked for two calls, one result and the answer after it."""
    chat = store.begin()
    asked = ask(store, chat, None, "Why is the sky blue?")
    answer = begin(store, chat, asked.id, "m")
    end(
        store,
        answer.id,
        "Let me see.",
        (1,),
        (),
        Stats("ars"),
        None,
        "complete",
        calls=(READ, LIST),
    )
    result = call(store, chat, answer.id, READ)
    assert store.path(chat)[-1].state == "streaming"
    end(store, result.id, "zeppelin\ud800", calls=(READ,), seconds=1.5)
    return chat


def test_calls_and_results_go_where_their_answer_goes() -> None:
    store, other = Store(None), Store(None)
    chat = calling(store)
    exported = [*read_json_lines(json_lines(store.whole(chat)))]
    (taken,) = other.take_in(exported)
    for path in (
        store.path(chat),
        store.path(store.fork(store.path(chat)[-1].id)),
        other.path(taken.number),
    ):
        asked, answer, result = path
        assert (asked.calls, answer.calls, result.calls) == ((), (READ, LIST), (READ,))
        assert (result.role, result.content, result.seconds) == ("tool", "zeppelin\ufffd", 1.5)
        assert result.parent == answer.id
    text = markdown(store.whole(chat))
    assert '`files__read is called`\n\n```\n{"path": "sky.txt"}\n```' in text
    assert "## Tool\n\n`files__read`\n\n```\nzeppelin�\n```" in text


def test_results_are_found_and_are_neither_titles_nor_prompts() -> None:
    store = Store(None)
    chat = calling(store)
    (found,) = store.summaries("zeppelin")
    assert (found.id, found.title) == (chat, "Why is the sky blue?")
    assert store.prompts() == ("Why is the sky blue?",)
    store.rename(chat, "")
    assert store.summaries()[0].title == "Why is the sky blue?"


def test_a_call_under_way_when_the_program_ends_is_kept_as_interrupted(path) -> None:
    store = opened(path)
    chat = calling(store)
    call(store, chat, store.path(chat)[-1].id, LIST)
    store.close()
    result = opened(path).path(chat)[-1]
    assert (result.state, result.stop, result.calls) == ("failed", INTERRUPTED, (LIST,))


def test_a_call_that_returned_nothing_is_exported_without_an_empty_block(path) -> None:
    store = opened(path)
    chat = calling(store)
    call(store, chat, store.path(chat)[-1].id, LIST)
    store.close()
    text = markdown(opened(path).whole(chat))
    assert "```\n\n```" not in text
    assert f"`{LIST.name}`\n\n*(interrupted)*" in text


def test_an_export_without_calls_can_be_read_by_earlier_programs() -> None:
    store = Store(None)
    chat = store.begin()
    ask(store, chat, None, "Hello")
    plain, called = (next(json_lines(store.whole(n))) for n in (chat, calling(store)))
    assert plain.startswith('{"specchat":1,')
    assert called.startswith('{"specchat":2,')


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
