"""OpenAI's responses, as its own client reads them."""

import json
from dataclasses import replace
from typing import Any, Literal
from unittest.mock import Mock

import openai
import pytest
from pydantic import BaseModel

from assistant.events import TokenLogprob
from assistant.request import Request, ToolCall
from assistant.serve.api_error import ApiError
from assistant.serve.completion_schema import CompletionRequest, parse
from assistant.serve.responses import Response, from_response
from tests.assistant.prompt.prompts import token
from tests.assistant.serve.conftest import Running

PLACE = {"place": {"enum": ["Rome", "Oslo"]}}
SCHEMA = {"type": "object", "properties": PLACE, "required": ["place"]}
TOOL = {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": True}
CALL = {"type": "function_call", "call_id": "a", "name": "weather", "arguments": "{}", "id": "fc"}
OWN = {"specchat": {"mode": "ars"}, "seed": 3}
RESULT = {"type": "function_call_output", "call_id": "a", "output": "rain"}


class Answer(BaseModel, extra="forbid"):
    """A structured answer, which even a random model ends."""

    name: Literal["Rome", "Oslo"]
    ok: bool


def parsed(input_: Any = "Hello", **wanted: Any) -> CompletionRequest:
    body = json.dumps({"model": "tiny", "input": input_, **wanted}).encode()
    return parse(body, Request(()), "tiny", from_response)


def events(running: Running, **wanted: Any) -> list[Any]:
    body = {"model": "tiny", "input": "Hello", "max_output_tokens": 8, **wanted}
    return [*running.client().responses.create(**body, stream=True, extra_body=OWN)]


def test_a_response_is_what_a_chat_completion_says(running: Running) -> None:
    client = running.client()
    common = {"model": "tiny", "extra_body": OWN}
    messages = [{"role": "system", "content": "Be."}, {"role": "user", "content": "Hello"}]
    chat = client.chat.completions.create(messages=messages, max_tokens=8, **common)
    wanted = {"input": "Hello", "instructions": "Be.", "max_output_tokens": 8}
    done = client.responses.create(**wanted, **common)
    (message,) = done.output
    assert (done.output_text, done.model) == (chat.choices[0].message.content, "tiny")
    assert (done.status, message.status) == ("incomplete", "incomplete")
    assert done.incomplete_details.reason == "max_output_tokens"
    usage, chat_usage = done.usage, chat.usage
    assert (usage.input_tokens, usage.output_tokens) == (chat_usage.prompt_tokens, 8)
    assert usage.total_tokens == chat_usage.total_tokens


def test_the_events_of_a_message_are_those_of_openai(running: Running) -> None:
    sent = events(running, top_logprobs=2, include=["message.output_text.logprobs"])
    kinds = [event.type.removeprefix("response.") for event in sent]
    assert [kind for i, kind in enumerate(kinds) if kind not in kinds[:i]] == [
        "created", "in_progress", "output_item.added", "content_part.added", "output_text.delta",
        "output_text.done", "content_part.done", "output_item.done", "incomplete",
    ]  # fmt: skip
    assert [event.sequence_number for event in sent] == [*range(len(sent))]
    deltas = [event for event in sent if event.type == "response.output_text.delta"]
    (message,) = sent[-1].response.output
    assert "".join(delta.delta for delta in deltas) == message.content[0].text
    rows = [row for delta in deltas for row in delta.logprobs]
    assert [row.token for row in rows] == [row.token for row in message.content[0].logprobs]
    assert all(len(row.top_logprobs) == 2 for row in rows)
    assert {event.item_id for event in sent[2:-1] if hasattr(event, "item_id")} == {message.id}


def test_a_token_that_completes_no_character_has_its_logprob_in_a_stream(running: Running) -> None:
    wanted = {"include": ["message.output_text.logprobs"], "max_output_tokens": 40}
    body = {"model": "tiny", "input": "Hello", **wanted}
    whole = running.client().responses.create(**body, extra_body=OWN)
    (message,) = events(running, **wanted)[-1].response.output
    tokens = [row.token for row in message.content[0].logprobs]
    assert "\ufffd" in tokens
    assert tokens == [row.token for row in whole.output[0].content[0].logprobs]
    assert len(tokens) == 40


def test_the_round_that_ends_a_thought_has_the_logprobs_of_its_answer() -> None:
    half = replace(token(""), logprobs=(TokenLogprob("\ufffd", (195,), -0.5),))
    objects = Response(parsed(include=["message.output_text.logprobs"]))
    sent = objects.more(
        [{"reasoning_content": "Hm."}], [replace(token("Hm."), part="thought"), half]
    )
    rows = [row for event in sent for row in event.get("logprobs", ())]
    assert [row["logprob"] for row in rows] == [-0.5]


def test_a_structured_response_is_parsed_whole_and_streamed(running: Running) -> None:
    client = running.client()
    wanted = {"model": "tiny", "input": "Hello", "text_format": Answer, "max_output_tokens": 200}
    whole = client.responses.parse(**wanted)
    with client.responses.stream(**wanted) as stream:
        last = [*stream][-1]
        assert stream.get_final_response().output_parsed
    assert (whole.status, last.type) == ("completed", "response.completed")
    assert whole.output_parsed
    for named in ({"type": "json_object"}, {"type": "json_schema", "name": "x", "schema": {}}):
        assert parsed(text={"format": named}).request.constraint
    assert parsed(text={"format": {"type": "text"}}).request.constraint is None


def test_a_call_is_an_item_whose_arguments_come_in_deltas(running: Running) -> None:
    wanted = {"model": "tiny", "input": "Hello", "tools": [TOOL], "max_output_tokens": 200}
    call_it = {"tool_choice": "required", "parallel_tool_calls": False}
    with running.client().responses.stream(**wanted, **call_it) as stream:
        sent = [*stream]
        (call,) = stream.get_final_response().output
    assert (call.type, call.name, call.call_id[:5]) == ("function_call", "weather", "call_")
    assert json.loads(call.arguments)["place"] in ("Rome", "Oslo")
    pieces = [e.delta for e in sent if e.type == "response.function_call_arguments.delta"]
    (whole,) = (e for e in sent if e.type == "response.function_call_arguments.done")
    assert "".join(pieces) == whole.arguments == call.arguments


def test_items_are_messages_and_an_answer_and_its_calls_are_one() -> None:
    part = {"type": "output_text", "text": "Yes.", "annotations": []}
    answer = {"type": "message", "role": "assistant", "id": "msg", "content": [part]}
    other = {**CALL, "call_id": "b"}
    thought = {"type": "reasoning", "id": "rs", "summary": []}
    parts = [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]
    user = {"type": None, "role": "user", "content": parts}
    results = [RESULT, {**RESULT, "call_id": "b", "output": parts}]
    request = parsed([user, thought, answer, CALL, other, *results, CALL, RESULT])
    roles = [message.role for message in request.request.messages]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "tool"]
    asked, said, first, second, called, third = request.request.messages
    assert request.notices == ()
    assert (asked.content, said.content, second.content) == ("a\nb", "Yes.", "a\nb")
    assert said.tool_calls == (ToolCall("weather", "{}", "a"), ToolCall("weather", "{}", "b"))
    assert [message.call_id for message in (first, second, third)] == ["a", "b", "a"]
    assert (called.content, len(called.tool_calls)) == ("", 1)
    assert parsed([{"role": "system", "content": "Be."}]).request.messages[0].role == "system"
    wanted = parsed(instructions="Be.", reasoning={"effort": "low"}, store=True)
    assert (wanted.request.effort, wanted.notices) == ("low", ())
    assert [message.content for message in wanted.request.messages] == ["Be.", "Hello"]


@pytest.mark.parametrize(
    ("wanted", "param"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"background": True}, "background"), ({"input": [123]}, "input[0]"),
        ({"input": [{"type": "item_reference", "id": "msg"}]}, "input"),
        ({"input": None}, "input"), ({"input": []}, "input"),
        ({"input": [{"role": "wizard", "content": "Hi"}]}, "input"),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input"),
        ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format"),
        ({"reasoning": {"effort": "wild"}}, "reasoning.effort"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "name": "wait"}}, "tool_choice"),
        ({"max_output_tokens": "many"}, "max_output_tokens"),
    ],
)  # fmt: skip
def test_an_impossible_response_is_refused_by_name(wanted: dict[str, Any], param: str) -> None:
    with pytest.raises(ApiError) as refused:
        parsed(**{"input_": "Hello", **wanted})
    assert (refused.value.status, refused.value.param) == (400, param)
    assert "messages" not in str(refused.value)


def test_a_field_of_a_response_without_effect_is_named() -> None:
    search = {"type": "web_search_preview"}
    wanted = {
        "tools": [TOOL, search], "text": {"verbosity": "low"}, "truncation": "auto",
        "reasoning": {"effort": None, "summary": "auto"}, "max_output_tokens": -1,
    }  # fmt: skip
    request = parsed([{"role": "user", "content": "Hello"}, {"type": "web_search_call"}], **wanted)
    assert [tool.name for tool in request.request.tools] == ["weather"]
    for name in ("web_search_preview", "web_search_call", "verbosity", "truncation", "summary"):
        assert name in " ".join(request.notices)


def test_a_stream_of_events_that_breaks_says_so(running: Running, monkeypatch: Any) -> None:
    monkeypatch.setattr("assistant.serve.responses._usage", Mock(side_effect=LookupError))
    with pytest.raises(openai.APIError, match="bug in specchat: LookupError"):
        events(running)
