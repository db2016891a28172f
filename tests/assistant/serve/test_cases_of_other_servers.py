"""The cases of other servers' tests are answered as those servers answer them."""

import json
from typing import Any

import pytest

from tests.assistant.serve.conftest import Running

HELLO = {"role": "user", "content": "Hello"}
BOOK = [{"role": "system", "content": "Book"}, {"role": "user", "content": "What is the best?"}]
PARTS = [{"type": "text", "text": "What is"}, {"type": "text", "text": "the best book"}]
PLACE = {"type": "object", "properties": {"place": {"enum": ["Rome"]}}, "required": ["place"]}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": PLACE}}
CONST = {"const": "foo"}


def formatted(**wanted: Any) -> dict[str, Any]:
    return {"messages": BOOK, "max_tokens": 20, "response_format": wanted}


def text_form(**wanted: Any) -> dict[str, Any]:
    return {"input": "Hello", "max_output_tokens": 20, "text": {"format": wanted}}


CHAT: dict[str, tuple[dict[str, Any], dict[str, Any] | int]] = {
    # llama.cpp: a refusal is a status, an answer the fields that matter in its first choice.
    "max_tokens": ({"messages": BOOK, "max_tokens": 8}, {"finish_reason": "length"}),
    "no model": ({"model": None, "messages": BOOK, "max_tokens": 8}, {"finish_reason": "length"}),
    "parts": ({"messages": [{"role": "user", "content": PARTS}], "max_tokens": 8},
              {"finish_reason": "length"}),
    "an answer to continue": ({"messages": [*BOOK, {"role": "assistant", "content": "Whi"}],
                               "max_tokens": 8}, {"finish_reason": "length"}),
    "its parts": ({"messages": [*BOOK, {"role": "assistant", "content": PARTS}], "max_tokens": 8},
                  {"finish_reason": "length"}),
    "a schema of json_object": (formatted(type="json_object", schema=CONST),
                                {"content": '"foo"'}),
    "json_schema": (formatted(type="json_schema", json_schema={"schema": CONST}),
                    {"content": '"foo"'}),
    "json_schema of the body": ({"messages": BOOK, "json_schema": CONST}, {"content": '"foo"'}),
    "grammar": ({"messages": BOOK, "grammar": 'root ::= "a"{5,5}'}, {"content": "aaaaa"}),
    "a field of its own": ({"messages": [HELLO], "max_tokens": 8, "timings_per_token": True},
                           {"finish_reason": "length"}),
    "an unknown form": (formatted(type="sound"), 400),
    "a schema that is a number": (formatted(type="json_object", schema=123), 400),
    "a type that is a number": (formatted(type="json_object", schema={"type": 123}), 400),
    "an unknown type": (formatted(type="json_object", schema={"type": "hiccup"}), 400),
    "no messages": ({"messages": None}, 400),
    "a text": ({"messages": "string"}, 400),
    "a number": ({"messages": [123]}, 400),
    "an empty message": ({"messages": [{}]}, 400),
    "a role that is a number": ({"messages": [{"role": 123}]}, 400),
    "a content that is a number": ({"messages": [{"role": "system", "content": 123}]}, 400),
    "an empty second message": ({"messages": [{"role": "system", "content": "test"}, {}]}, 400),
    # vLLM
    "tool_choice null": ({"messages": BOOK, "tools": [TOOL], "tool_choice": None, "max_tokens": 8},
                         {"finish_reason": "length"}),
    "a call without tools": ({"messages": BOOK, "tool_choice": "required"}, 400),
    "a named call": ({"messages": BOOK, "tools": [TOOL], "tool_choice": TOOL, "max_tokens": 90,
                      "parallel_tool_calls": False},
                     {"content": None, "finish_reason": "stop"}),
    "a negative temperature": ({"messages": BOOK, "temperature": -1}, 400),
}  # fmt: skip
TEXTS: dict[str, tuple[dict[str, Any], dict[str, Any] | int]] = {
    "max_tokens": ({"prompt": "I believe", "max_tokens": 8}, {"finish_reason": "length"}),
    "n_predict": ({"prompt": "I believe", "n_predict": 24}, {"tokens": 24}),
    "a long prompt": ({"prompt": "I believe the meaning of life is" * 64}, 400),
    "an empty list": ({"prompt": []}, 400),
}
RESPONSES: dict[str, tuple[dict[str, Any], str | int | None]] = {
    "json_schema": (text_form(type="json_schema", name="test", schema=CONST), '"foo"'),
    "text": (text_form(type="text"), None),
    "messages": ({"input": BOOK, "max_output_tokens": 8, "temperature": 0.8}, None),
    "no schema": (text_form(type="json_schema", name="test"), 400),
}


def ask(running: Running, path: str, body: object) -> tuple[int, Any]:
    status, answer = running.post(path, body)
    return status, json.loads(answer)


@pytest.mark.parametrize("case", CHAT)
def test_a_chat_completion_is_answered_as_elsewhere(running: Running, case: str) -> None:
    body, expected = CHAT[case]
    status, done = ask(running, "/chat/completions", body)
    if isinstance(expected, int):
        assert (status, bool(done["error"]["message"])) == (expected, True)
        return
    assert status == 200, done
    (choice,) = done["choices"]
    assert {**choice, **choice["message"]}.items() >= expected.items()
    assert choice["message"]["role"] == "assistant"
    assert "cmpl" in done["id"]
    assert choice["finish_reason"] != "length" or done["usage"]["completion_tokens"] == 8


@pytest.mark.parametrize("case", TEXTS)
def test_a_text_completion_is_answered_as_elsewhere(running: Running, case: str) -> None:
    body, expected = TEXTS[case]
    status, done = ask(running, "/v1/completions", body)
    if isinstance(expected, int):
        assert (status, bool(done["error"]["message"])) == (expected, True)
        return
    assert status == 200, done
    counted = {"tokens": done["usage"]["completion_tokens"]}
    assert {**done["choices"][0], **counted}.items() >= expected.items()


def test_a_native_completion_has_the_fields_at_the_paths_that_are_named(running: Running) -> None:
    paths = ["content", "generation_settings/n_predict", "timings/predicted_n", "no/such"]
    status, done = ask(
        running, "/completion", {"prompt": "I believe", "n_predict": 8, "response_fields": paths}
    )
    assert (status, [*done], [*done.values()][1:]) == (200, paths[:3], [8, 8])


@pytest.mark.parametrize("case", RESPONSES)
def test_a_response_is_answered_as_elsewhere(running: Running, case: str) -> None:
    body, expected = RESPONSES[case]
    status, done = ask(running, "/responses", body)
    if isinstance(expected, int):
        assert (status, bool(done["error"]["message"])) == (expected, True)
        return
    assert status == 200, done
    (message,) = done["output"]
    assert (done["id"][:5], message["id"][:4]) == ("resp_", "msg_")
    assert expected in (None, message["content"][0]["text"])
