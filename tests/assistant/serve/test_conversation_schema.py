"""What is understood of messages and tools, and what is refused of them, by name."""

import json
from typing import Any

import pytest

from assistant.request import Message, Request, Tool, ToolCall
from assistant.serve.answer_tokens import AnswerTokens
from assistant.serve.api_error import ApiError
from assistant.serve.completion_schema import MOST_MESSAGES, parse_completion
from assistant.serve.conversation_schema import LONGEST_TOOLS, MOST_CALLS, MOST_TOOLS, UNREADABLE
from tests.assistant.serve.conftest import finished

ASKED = [{"role": "user", "content": "Hello"}]
CHOICES = ("none", "auto", "required")


def tool(name: str = "look", **function: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **function}}


def call(name: str = "look", arguments: str = "{}", id_: str = "a") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def called(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def result(of: str = "a", content: Any = "seen") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": of, "content": content}


def asked(**wanted: Any) -> Request:
    body = json.dumps({"model": "tiny", "messages": ASKED, **wanted}).encode()
    return parse_completion(body, Request(())).request


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


def test_a_function_that_has_to_be_called_is_the_only_one() -> None:
    request = asked(tools=[tool(), tool("wait")], tool_choice=tool("wait"))
    assert [each.name for each in request.tools] == ["wait"]
    assert request.tool_choice == "required"
    assert [asked(tools=[tool()], tool_choice=c).tool_choice for c in CHOICES] == [*CHOICES]


def test_calls_and_their_results_are_understood() -> None:
    parts = [{"type": "text", "text": "se"}, {"type": "text", "text": "en"}]
    said = [*ASKED, called(call(), call("wait", "", "b")), result("b", ""), result("a", parts)]
    _, answer, waited, seen = asked(messages=said).messages
    assert answer.tool_calls == (ToolCall("look", "{}", "a"), ToolCall("wait", "{}", "b"))
    assert waited == Message("tool", "", call_id="b")
    assert seen == Message("tool", "seen", call_id="a")
    asked(messages=[*said, called(call()), result()])  # the id of a call that is over
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


@pytest.mark.parametrize(
    ("wanted", "param"),
    [
        ({"functions": [{"name": "look"}]}, "functions"),
        ({"tools": [{"type": "custom", "custom": {"name": "look"}}]}, "tools[0].type"),
        ({"tools": [{"type": "function"}]}, "tools[0]"),
        ({"tools": [tool(), tool("")]}, "tools[1].function.name"),
        ({"tools": [tool("a\n")]}, "tools[0].function.name"),
        ({"tools": [tool("a" * 65)]}, "tools[0].function.name"),
        ({"tools": [tool(), tool("look")]}, "tools[1].function.name"),
        ({"tools": [tool(parameters=[])]}, "tools[0].function.parameters"),
        ({"tools": [tool(parameters={"type": "string"})]}, "tools[0].function.parameters"),
        ({"tools": [tool(color="red")]}, "tools[0].function"),
        ({"tools": [tool(f"look{i}") for i in range(MOST_TOOLS + 1)]}, "tools"),
        ({"tools": [tool(description="x" * LONGEST_TOOLS)]}, "tools"),
        ({"tools": [tool()], "tool_choice": tool("wait")}, "tool_choice"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tools": [], "tool_choice": tool()}, "tool_choice"),
        ({"messages": [*ASKED, result()]}, "messages[1].tool_call_id"),
        ({"messages": [*ASKED, called(call()), result("b")]}, "messages[2].tool_call_id"),
        ({"messages": [*ASKED, called(call()), result(), result()]}, "messages[3].tool_call_id"),
        ({"messages": [*ASKED, called(call()), called(call(id_="b")), result("a")]},
         "messages[3].tool_call_id"),
        ({"messages": ASKED * (MOST_MESSAGES + 1)}, "messages"),
        ({"messages": [*ASKED, called(call()), {"role": "tool"}]}, "messages[2].tool_call_id"),
        ({"messages": [{**ASKED[0], "tool_call_id": "a"}]}, "messages[0].tool_call_id"),
        ({"messages": [{**ASKED[0], "tool_calls": [call()]}]}, "messages[0].tool_calls"),
        ({"messages": [*ASKED, called(call(), call())]}, "messages[1].tool_calls[1].id"),
        ({"messages": [*ASKED, called(call())]}, "messages"),
        ({"messages": [*ASKED, called(*(call(id_=f"{i}") for i in range(MOST_CALLS + 1))),
                       result("0")]}, "messages"),
    ],
)  # fmt: skip
def test_an_unusable_field_of_tools_is_refused_by_name(wanted: dict[str, Any], param: str) -> None:
    with pytest.raises(ApiError) as refused:
        asked(**wanted)
    assert (refused.value.status, refused.value.param) == (400, param)
    assert param != "functions" or "use tools" in str(refused.value)


def test_an_answer_is_found_by_its_calls_however_their_json_is_written() -> None:
    remembered = AnswerTokens()
    said = ToolCall("look", '{"at": "a", "far": 1}', "x")
    remembered.remember(finished("", (7, 8), tool_calls=(said,)))
    remembered.remember(finished("", (9,), tool_calls=(ToolCall("wait", "{}", "x"),)))

    def tokens(*calls: ToolCall, text: str = "") -> tuple[int, ...]:
        (message,) = remembered.recall([Message("assistant", text, tool_calls=calls)])
        return message.token_ids

    assert tokens(ToolCall("look", '{"far":1,"at":"a"}', "y")) == (7, 8)
    assert tokens(ToolCall("wait", "{}", "y")) == (9,)
    assert tokens(ToolCall("look", '{"far":2,"at":"a"}', "x")) == ()
    assert tokens(said, said) == tokens(said, text="So.") == tokens() == ()
