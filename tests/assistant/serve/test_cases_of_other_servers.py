"""The cases of other servers' tests are answered as those servers answer them."""

import json
from typing import Any

import pytest

from tests.assistant.serve.conftest import Running

BOOK = [{"role": "system", "content": "Book"}, {"role": "user", "content": "What is the best?"}]
PARTS = [{"type": "text", "text": "What is"}, {"type": "text", "text": "the best book"}]
PLACE = {"type": "object", "properties": {"place": {"enum": ["Rome"]}}, "required": ["place"]}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": PLACE}}
CONST = {"const": "foo"}
LENGTH, FOO = {"finish_reason": "length"}, {"content": '"foo"'}


def formatted(**wanted: Any) -> dict[str, Any]:
    return {"max_tokens": 20, "response_format": wanted}


CHAT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # llama.cpp: the fields that matter in the first choice
    "no model": ({"model": None, "max_tokens": 8}, LENGTH),
    "an answer to continue": ({"messages": [*BOOK, {"role": "assistant", "content": PARTS}],
                               "max_tokens": 8}, LENGTH),
    "a schema of json_object": (formatted(type="json_object", schema=CONST), FOO),
    "json_schema": (formatted(type="json_schema", json_schema={"schema": CONST}), FOO),
    "json_schema of the body": ({"json_schema": CONST}, FOO),
    "grammar": ({"grammar": 'root ::= "a"{5,5}'}, {"content": "aaaaa"}),
    # vLLM
    "tool_choice null": ({"tools": [TOOL], "tool_choice": None, "max_tokens": 8}, LENGTH),
    "a named call": ({"tools": [TOOL], "tool_choice": TOOL, "max_tokens": 90,
                      "parallel_tool_calls": False},
                     {"content": None, "finish_reason": "stop"}),
}  # fmt: skip
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("/chat/completions", {"messages": BOOK, **formatted(type="sound")}),
    ("/chat/completions", {"messages": BOOK, **formatted(type="json_object", schema=123)}),
    ("/chat/completions", {"messages": BOOK, **formatted(type="json_object",
                                                         schema={"type": "hiccup"})}),
    ("/chat/completions", {"messages": None}),
    ("/chat/completions", {"messages": [{"role": "system", "content": "test"}, {}]}),
    ("/chat/completions", {"messages": [{"role": "system", "content": 123}]}),
    ("/chat/completions", {"messages": BOOK, "temperature": -1}),
    ("/v1/completions", {"prompt": "I believe the meaning of life is" * 64}),
    ("/v1/completions", {"prompt": []}),
]  # fmt: skip


@pytest.mark.parametrize("case", CHAT)
def test_a_chat_completion_is_answered_as_elsewhere(running: Running, case: str) -> None:
    body, expected = CHAT[case]
    done = running.answer("/chat/completions", {"messages": BOOK, **body})
    (choice,) = done["choices"]
    assert {**choice, **choice["message"]}.items() >= expected.items()
    assert choice["message"]["role"] == "assistant"
    assert "cmpl" in done["id"]
    assert choice["finish_reason"] != "length" or done["usage"]["completion_tokens"] == 8


@pytest.mark.parametrize(("limit", "count"), [("max_tokens", 8), ("n_predict", 24)])
def test_a_text_completion_is_answered_as_elsewhere(running: Running, limit, count) -> None:
    done = running.answer("/v1/completions", {"prompt": "I believe", limit: count})
    assert done["choices"][0]["finish_reason"] == "length"
    assert done["usage"]["completion_tokens"] == count


@pytest.mark.parametrize(("path", "body"), REFUSED)
def test_a_body_that_others_refuse_is_refused(running: Running, path: str, body: Any) -> None:
    status, answer = running.post(path, body)
    assert (status, bool(json.loads(answer)["error"]["message"])) == (400, True)
