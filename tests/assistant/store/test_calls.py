"""Thoughts and tool calls are stored, deleted and restored with their answers."""

import pytest

from assistant.request import ToolCall
from assistant.store.exports import json_lines, markdown, read_json_lines
from assistant.store.store import Store
from assistant.store.values import INTERRUPTED
from tests.assistant.store.conversations import opened
from tests.stored import ask, begin, call, end, stream

READ = ToolCall("files__read", '{"path": "sky.txt"}', "call_1")
LIST = ToolCall("files__list", "{}", "call_2")


def calling(store: Store) -> int:
    """Keep an answer with a thought and two calls, and the result of one of them."""
    chat = store.create()
    question = ask(store, chat, None, "Why is the sky blue?")
    answer = begin(store, chat, question.id, "m")
    stream(store, answer.id, "", (), "Rayl")
    assert store.path(chat)[-1].thought == "Rayl"
    calls = READ, LIST
    end(store, answer.id, "Let me see.", thought="Rayleigh?\nYes.", tool_calls=calls)
    result = call(store, chat, answer.id, READ)
    assert store.path(chat)[-1].state == "streaming"
    end(store, result.id, "zeppelin\ud800", tool_calls=(READ,), seconds=1.5)
    return chat


def test_thoughts_calls_and_results_go_where_their_answer_goes() -> None:
    store, other = Store(None), Store(None)
    chat = calling(store)
    exported = [*read_json_lines(json_lines(store.whole(chat)))]
    (taken,) = other.import_conversations(exported)
    for path in (
        store.path(chat),
        store.path(store.fork(store.path(chat)[-1].id)),
        other.path(taken.number),
    ):
        _, answer, result = path
        assert [each.tool_calls for each in path] == [(), (READ, LIST), (READ,)]
        assert (answer.content, answer.thought) == ("Let me see.", "Rayleigh?\nYes.")
        assert (result.role, result.content, result.seconds) == ("tool", "zeppelin\ufffd", 1.5)
        assert result.parent == answer.id
    text = markdown(store.whole(chat))
    assert "> Rayleigh?\n> Yes.\n\nLet me see." in text
    assert '`files__read is called`\n\n```\n{"path": "sky.txt"}\n```' in text
    assert "## Tool\n\n`files__read`\n\n```\nzeppelin�\n```" in text


@pytest.mark.parametrize(
    ("search", "snippet"),
    [("zeppelin", "zeppelin\ufffd"), ("rayleigh", "Rayleigh? Yes."), ("let me", "Let me see.")],
)
def test_thoughts_and_results_are_found_and_are_neither_titles_nor_prompts(search, snippet) -> None:
    store = Store(None)
    chat = calling(store)
    (found,) = store.summaries(search)
    assert (found.id, found.title, found.snippet) == (chat, "Why is the sky blue?", snippet)
    assert store.summaries("ラ") == ()
    assert store.prompts() == ("Why is the sky blue?",)
    store.rename(chat, "")
    assert store.summaries()[0].title == "Why is the sky blue?"


def test_a_call_under_way_when_the_program_ends_is_kept_as_interrupted(path) -> None:
    store = opened(path)
    chat = calling(store)
    call(store, chat, store.path(chat)[-1].id, LIST)
    store.close()
    store = opened(path)
    result = store.path(chat)[-1]
    assert (result.state, result.stop, result.tool_calls) == ("failed", INTERRUPTED, (LIST,))
    assert f"`{LIST.name}`\n\n*(interrupted)*" in markdown(store.whole(chat))
