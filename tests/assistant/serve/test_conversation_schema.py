"""`conversation_schema`: which messages and tools are understood, and which are refused."""

import json
from functools import partial
from typing import Any

import numpy as np
import pytest

from assistant.decoding.warp import warp
from assistant.request import Constraint, Message, Request, Tool, ToolCall
from assistant.serve.api_error import ApiError
from assistant.serve.completion_schema import MOST_MESSAGES, CompletionRequest, from_chat, parse
from assistant.serve.conversation_schema import LONGEST_TOOLS, MOST_CALLS, MOST_TOOLS, UNREADABLE
from assistant.serve.dialect import MOST_NOTICES
from assistant.serve.recent_answers import MAX_ANSWERS_REMEMBERED, AnswerTokens
from assistant.serve.responses import from_response
from assistant.serve.text_completion import from_text
from tests.assistant.serve.conftest import finished

ASKED = [{"role": "user", "content": "Hello"}]
IMAGE = {"type": "image_url", "image_url": {"url": "data:"}}
CACHED = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
CHOICES = ("none", "auto", "required")


def tool(name: str = "look", **function: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **function}}


def call(name: str = "look", arguments: Any = "{}", id_: str | None = "a") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def called(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def result(of: str | None = "a", content: Any = "seen") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": of, "content": content}


def asked(**wanted: Any) -> Request:
    return parsed(**wanted).request


def parsed(**wanted: Any) -> CompletionRequest:
    body = json.dumps({"model": "tiny", "messages": ASKED, **wanted}).encode()
    return parse(body, Request(()), "tiny")


def test_tools_are_understood_as_they_are_described() -> None:
    schema = {"type": "object", "properties": {"at": {"type": "string"}}}
    described = tool(description="Look at it.", parameters=schema, strict=True)
    request = asked(tools=[described, tool("wait", parameters=None)], parallel_tool_calls=False)
    look, wait = request.tools
    assert look == Tool("look", "Look at it.", look.parameters, strict=True)
    assert json.loads(look.parameters) == schema
    assert not wait.strict
    assert json.loads(wait.parameters)["additionalProperties"] is False
    assert (request.tool_choice, request.parallel_calls) == ("auto", False)
    assert json.loads(asked(tools=[tool(parameters={})]).tools[0].parameters)["type"] == "object"


def test_a_function_that_has_to_be_called_is_the_only_one_and_called_once() -> None:
    request = asked(tools=[tool(), tool("wait")], tool_choice=tool("wait"))
    assert [each.name for each in request.tools] == ["wait"]
    assert (request.tool_choice, request.parallel_calls) == ("required", False)
    assert [asked(tools=[tool()], tool_choice=c).tool_choice for c in CHOICES] == [*CHOICES]


def test_calls_and_their_results_are_understood() -> None:
    parts = [{"type": "text", "text": "seen"}, {"text": "twice"}, "thrice"]
    turn = [*ASKED, called(call(), call("wait", "", "b")), result("b", ""), result("a", parts)]
    _, answer, *results = asked(messages=turn).messages
    assert answer.tool_calls == (ToolCall("look", "{}", "a"), ToolCall("wait", "{}", "b"))
    seen = Message("tool", "seen\ntwice\nthrice", call_id="a")
    assert results == [Message("tool", "", call_id="b"), seen]
    asked(messages=[*turn, called(call()), result()])  # the id of a call that is over
    asked(messages=[*ASKED, called(call()), *ASKED, called(call()), result()])  # or was given up


def test_an_answer_may_come_back_as_the_client_writes_it_down() -> None:
    unset = {"refusal": None, "annotations": None, "audio": None, "function_call": None}
    answer = {"role": "assistant", "content": "Yes.", "tool_calls": None, **unset}
    assert asked(messages=[*ASKED, answer, *ASKED]).messages[1] == Message("assistant", "Yes.")
    own = {"provider_specific_fields": {"refusal": None}}
    written = {**call(), "function": {**call()["function"], **own}, "index": 0, **own}
    _, back, _ = asked(messages=[*ASKED, {**called(written), **own}, result()]).messages
    assert back.tool_calls == (ToolCall("look", "{}", "a"),)


@pytest.mark.parametrize("written", ["[]", '{"a": ', '{"a":' * 9999, "null"])
def test_arguments_that_are_no_object_are_kept_in_one(written: str) -> None:
    _, answer, _ = asked(messages=[*ASKED, called(call(arguments=written)), result()]).messages
    assert json.loads(answer.tool_calls[0].arguments) == {UNREADABLE: written}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"functions": [{"name": "look"}]}, "functions"),
    ({"tools": [{"type": "custom", "custom": {"name": "look"}}]}, "tools[0].type"),
    ({"tools": [{"type": "function"}]}, "tools[0]"),
    ({"tools": [tool(), tool("")]}, "tools"), ({"tools": [tool("a\n")]}, "tools"),
    ({"tools": [tool("a" * 129)]}, "tools"), ({"tools": [tool(), tool("look")]}, "tools"),
    ({"tools": [tool(parameters=[])]}, "tools[0].function.parameters"),
    ({"tools": [tool(parameters={"type": "string"})]}, "tools[0].function.parameters"),
    ({"tools": [tool(f"look{i}") for i in range(MOST_TOOLS + 1)]}, "tools"),
    ({"tools": [tool(description="x" * LONGEST_TOOLS)]}, "tools"),
    ({"tools": [tool()], "tool_choice": tool("wait")}, "tool_choice"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tools": [], "tool_choice": tool()}, "tool_choice"),
    ({"messages": ASKED * (MOST_MESSAGES + 1)}, "messages"),
    ({"messages": [{**ASKED[0], "tool_calls": [call()]}]}, "messages[0].tool_calls"),
    ({"messages": [*ASKED, called(call())]}, "messages"),
    ({"messages": [*ASKED, called(*(call(id_=f"{i}") for i in range(MOST_CALLS + 1))),
                   result("0")]}, "messages"),
    ({"messages": [{"role": "user", "content": [IMAGE]}]}, "messages"),
    ({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "messages"),
    ({"n": 2}, "n"), ({"logit_bias": {"5": 1}}, "logit_bias"),
    ({"presence_penalty": 0.1}, "presence_penalty"), ({"guided_regex": "a"}, "guided_regex"),
    ({"options": {"presence_penalty": 0.1}}, "presence_penalty"),
    ({"modalities": ["text", "audio"]}, "modalities"),
    ({"response_format": {"type": "json_schema"}}, "response_format"),
    ({"response_format": {"type": "sound"}}, "response_format.type"),
    ({"response_format": {"type": "json_object", "schema": 123}}, "response_format.schema"),
    ({"messages": [*ASKED, {}]}, "messages[1]"), ({"temperature": -1}, "temperature"),
    ({"messages": [{"role": "system", "content": 123}]}, "messages[0].content"),
]  # fmt: skip
"""What cannot be done, and the parameter that the refusal names."""

LIBERAL: list[tuple[dict[str, Any], str]] = [
    ({"messages": [*ASKED, {"role": "assistant", "content": "x", "seen": "y"}, *ASKED]},
     "messages[1].seen"),
    ({"messages": [{"role": "user", "content": [CACHED]}]}, "messages[0].content[0].cache_control"),
    ({"tools": [{**tool(), "eager_input_streaming": True}]}, "tools[0].eager_input_streaming"),
    ({"tools": [tool(color="red")]}, "tools[0].function.color"),
    ({"messages": [*ASKED, called({**call(), "extra": 1}), result()]},
     "messages[1].tool_calls[0].extra"),
    *(({name: value}, name) for name, value in {
        "prompt_cache_retention": "24h", "verbosity": "low", "store": True, "keep_alive": -1,
        "cache_prompt": True, "thinking": {"type": "enabled"}, "num_ctx": 8192, "parsed": 1,
        "service_tier": "flex", "include_reasoning": True,
    }.items()),
    ({"chat_template_kwargs": {"preserve_thinking": True}},
     "chat_template_kwargs.preserve_thinking"),
    ({"enable_thinking": True}, "enable_thinking"),
    ({"specchat": {"mood": 1}}, "specchat.mood"),
    ({"max_tokens": -1}, "max_tokens"), ({"max_tokens": 0}, "max_tokens"),
    ({"max_completion_tokens": 2**40}, "max_completion_tokens"), ({"n_predict": 7}, "n_predict"),
    ({"seed": -1}, "seed"), ({"top_k": -1}, "top_k"), ({"top_p": 0}, "top_p"),
    ({"repetition_penalty": 1.1}, "repetition_penalty"), ({"options": {"top_k": 3}}, "options"),
    *(({name: {"const": 1}}, name) for name in ("json_schema", "guided_json", "format")),
    ({"stop": ["", "x"]}, "stop"), ({"stop": ""}, "stop"),
    ({"model": "gpt-4"}, "model"),
    ({"messages": [{"role": "user", "content": "\ud83d"}]}, "body"),
    ({"messages": [*ASKED, result()]}, "messages[1].tool_call_id"),
    ({"messages": [*ASKED, called(call()), result("b")]}, "messages[2].tool_call_id"),
    ({"messages": [*ASKED, called(call()), result(), result()]}, "messages[3].tool_call_id"),
    ({"messages": [*ASKED, called(call()), called(call(id_="b")), result("a")]},
     "messages[3].tool_call_id"),
    ({"messages": [*ASKED, called(call()), {"role": "tool"}]}, "messages[2].tool_call_id"),
    ({"messages": [{**ASKED[0], "tool_call_id": "a"}]}, "messages[0].tool_call_id"),
    ({"messages": [*ASKED, called(call(), call()), result(), result()]},
     "messages[1].tool_calls[1].id"),
    ({"messages": [*ASKED, called(call(id_=None)), result(None)]}, "messages[1].tool_calls[0].id"),
]  # fmt: skip
"""What has no effect, or another one than written, and the parameter that it is named by."""


@pytest.mark.parametrize(("wanted", "param"), REFUSED)
def test_an_impossible_message_is_refused_by_name(wanted: dict[str, Any], param: str) -> None:
    with pytest.raises(ApiError) as refused:
        asked(**wanted)
    assert (refused.value.status, refused.value.param) == (400, param)
    assert param != "functions" or "use tools" in str(refused.value)


@pytest.mark.parametrize(
    ("adapt", "body"),
    [(from_chat, {"messages": ASKED}), (from_text, {"prompt": "x"}),
     (from_response, {"input": "x"}), (partial(from_text, native=True), {"prompt": "x"})],
)  # fmt: skip
def test_a_request_read_strictly_names_a_model_where_openai_does(adapt: Any, body: Any) -> None:
    assert not parse(json.dumps(body).encode(), Request(()), "tiny", adapt).notices
    strict = json.dumps({**body, "strict_api": True}).encode()
    if isinstance(adapt, partial):  # llama.cpp's server has no such field
        assert parse(strict, Request(()), "tiny", adapt)
        return
    with pytest.raises(ApiError) as refused:
        parse(strict, Request(()), "tiny", adapt)
    assert (refused.value.status, refused.value.param) == (400, "model")


def test_fields_of_llama_cpp_are_named_where_they_have_no_effect() -> None:
    fields = {"cache_prompt": True, "samplers": ["top_k"], "response_fields": ["content"]}
    body = json.dumps({"prompt": "x", **fields, "n_predict": 2}).encode()
    assert parse(body, Request(()), "tiny", partial(from_text, native=True)).notices == ()
    read = parse(body, Request(()), "tiny", from_text)
    assert all(sum(name in notice for notice in read.notices) == 1 for name in fields)
    assert (len(read.notices), read.request.max_tokens) == (3, 2)


@pytest.mark.parametrize(("wanted", "param"), LIBERAL)
def test_a_field_without_effect_is_named_or_refused(wanted: dict[str, Any], param: str) -> None:
    read = parsed(**wanted)
    assert read.model == "tiny"
    assert len(read.notices) == len({*read.notices}) >= 1
    with pytest.raises(ApiError, match="strict_api") as refused:
        asked(**wanted, strict_api=True)
    assert (refused.value.param or "body") == param
    assert refused.value.status == (404 if param == "model" else 400)


def test_values_of_other_servers_mean_what_they_mean_there() -> None:
    unlimited = asked(max_tokens=-1, seed=-1, top_k=-1, top_p=0, stop=["", "x", None])
    sampling = unlimited.sampling
    assert (unlimited.max_tokens, unlimited.seed, unlimited.stop_strings) == (None, None, ("x",))
    assert (sampling.top_k, asked(max_tokens=0).max_tokens) == (0, None)
    row = np.array([0.1, 3, 2.9, -1], np.float32)
    assert warp(row, sampling, ()).ids.tolist() == [1]
    ollama = asked(options={"num_predict": 9, "repeat_penalty": 1.5, "num_ctx": 5}, top_k=7)
    assert (ollama.max_tokens, ollama.sampling.repeat_penalty, ollama.sampling.top_k) == (9, 1.5, 7)
    assert asked(repetition_penalty=1.2).sampling.repeat_penalty == 1.2
    assert asked(stop="x").stop_strings == ("x",)
    assert asked(max_tokens=2**70).max_tokens == 2**31 - 1
    assert asked(max_tokens=9, max_completion_tokens=7).max_tokens == 7  # the newer name
    assert asked(thinking={"type": "disabled"}).thinking == "off"
    assert asked(reasoning_effort="max").effort == "high"
    assert asked(response_format={"type": "json_schema", "schema": {}}).constraint
    assert asked(grammar="").constraint is None
    assert asked(grammar="x").constraint == Constraint("grammar", "x")


def test_neutral_values_and_labels_of_other_programs_are_accepted() -> None:
    neutral = {
        "n": 1, "presence_penalty": 0, "frequency_penalty": 0.0, "logprobs": False, "tools": [],
        "response_format": {"type": "text"}, "user": "me", "store": False,
        "parallel_tool_calls": True, "tool_choice": "auto",
    }  # fmt: skip
    messages = [{"role": "developer", "content": "Be brief."}, *ASKED]
    read = asked(**neutral, messages=messages, strict_api=True)
    assert read == Request((Message("system", "Be brief."), Message("user", "Hello")))


def test_numbers_of_other_languages_are_whole_unless_read_strictly() -> None:
    read = asked(max_tokens=5.0, top_k="7", seed="1")
    assert (read.max_tokens, read.sampling.top_k, read.seed) == (5, 7, 1)
    for wanted in ({"max_tokens": 5.5}, {"max_tokens": "many"}, {"temperature": "nan"}):
        with pytest.raises(ApiError):
            asked(**wanted)
    with pytest.raises(ApiError):
        asked(max_tokens="5", strict_api=True)


def test_a_null_is_the_default_and_hides_no_other_name_of_a_field() -> None:
    nulls = dict.fromkeys(("n_predict", "repetition_penalty", "n", "tools", "stop", "temperature"))
    read = asked(**nulls, max_tokens=4, repeat_penalty=1.5, options={"temperature": 0})
    assert (read.max_tokens, read.sampling.repeat_penalty) == (4, 1.5)
    assert read.sampling.temperature == 0
    assert asked(stop=[None, "x"]).stop_strings == ("x",)
    for form in (None, {"type": "text"}):
        assert asked(json_schema={"const": 1}, response_format=form).constraint


def test_a_field_that_is_given_by_its_usual_name_has_no_other() -> None:
    read = parsed(max_tokens=4, n_predict=-1)
    assert (read.request.max_tokens, len(read.notices)) == (4, 1)
    form = {"type": "json_object", "schema": {"const": 2}}
    read = parsed(guided_json={"const": 1}, response_format=form)
    assert read.request.constraint == Constraint("schema", '{"const":2}')
    assert "guided_json, so it has no effect" in read.notices[0]


def test_calls_and_results_without_ids_are_matched_by_order() -> None:
    first, second = call("fs.read:x", {"at": "a"}, None), call("wait", None, None)
    del first["type"]
    turn = [*ASKED, called(first, second), result(None, "one"), result(None, "two")]
    request = asked(messages=turn, tools=[tool("fs.read:x"), tool("wait")])
    _, answer, one, two = request.messages
    assert answer.tool_calls[0].arguments == '{"at":"a"}'
    assert [one.call_id, two.call_id] == [called_.id for called_ in answer.tool_calls]
    assert len({one.call_id, two.call_id, ""}) == 3


def test_a_thought_comes_back_under_either_name() -> None:
    for name in ("reasoning", "reasoning_content"):
        back = {"role": "assistant", "content": "x", name: "y"}
        assert asked(messages=[*ASKED, back, *ASKED]).messages[1].thought == "y"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"\ud83d\ude00", "\U0001f600"), (r"a\ud83d", "a\ufffd"), (r"\uDE00b", "\ufffdb"),
        (r"\\ud83d", "\\ud83d"), (r"\\\ud83d", "\\\ufffd"),
        (r"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (r"\ud83d\n", "\ufffd\n"), (r"\u00e9\"", "\u00e9\""),
    ],
)  # fmt: skip
def test_half_a_character_is_the_replacement_character(written: str, read: str) -> None:
    body = b'{"messages": [{"role": "user", "content": "%s"}]}' % written.encode()
    assert parse(body, Request(()), "tiny").request.messages[0].content == read


def test_a_request_makes_few_notices_however_much_it_says() -> None:
    assert len(parsed(**{f"key{i}": 1 for i in range(1000)}).notices) == MOST_NOTICES


def test_an_answer_is_found_by_its_calls_however_their_json_is_written() -> None:
    remembered, look = AnswerTokens(), ToolCall("look", '{"at": "a", "far": 1}', "x")
    remembered.remember(finished("", (7, 8), tool_calls=(look,)))
    remembered.remember(finished("", (9,), tool_calls=(ToolCall("wait", "{}", "x"),)))
    remembered.remember(finished("Hi.", (5,), thought="Hm."))  # which templates leave out

    def tokens(*calls: ToolCall, text: str = "") -> tuple[int, ...]:
        return remembered.with_tokens(Message("assistant", text, tool_calls=calls)).token_ids

    assert tokens(ToolCall("look", '{"far":1,"at":"a"}', "y")) == (7, 8)
    assert tokens(ToolCall("wait", "{}", "y")) == (9,)
    assert tokens(ToolCall("look", '{"far":2,"at":"a"}', "x")) == ()
    assert tokens(look, look) == tokens(look, text="So.") == tokens(text="Hi.") == tokens() == ()
    for number in range(MAX_ANSWERS_REMEMBERED - 1):
        remembered.remember(finished("", (7, 8), tool_calls=(look,)))  # the newest each time
        remembered.remember(finished(f"{number}", (number,)))
    assert (tokens(look), tokens(text="0"), tokens(ToolCall("wait", "{}"))) == ((7, 8), (0,), ())
