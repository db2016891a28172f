"""The body of OpenAI's responses, as that of a chat completion."""

from typing import Any

import msgspec

from assistant.request import Request
from assistant.serve.api_error import refuse, shortened
from assistant.serve.completion_schema import Adapted, converted
from assistant.serve.dialect import Fields, Notices

_STATEFUL = ("previous_response_id", "conversation", "prompt", "background")


class _Body(msgspec.Struct):
    """The fields that have other names in a chat completion."""

    input: str | list[Fields]
    instructions: str | None = None
    max_output_tokens: int | None = None
    text: Fields | None = None
    reasoning: Fields | None = None
    tools: list[Fields] | None = None
    tool_choice: str | Fields | None = None
    include: list[str] | None = None
    store: Any = None  # nothing is stored


def from_response(fields: Fields, notices: Notices, defaults: Request) -> Adapted:
    """Make a chat completion of the body of a response that needs nothing stored before."""
    for name in _STATEFUL:
        if fields.pop(name, None):
            refuse(f"Nothing is stored here; send all of the input instead of {name}.", name)
    body = converted(fields, _Body)
    text, reasoning = body.text or {}, body.reasoning or {}
    tools = body.tools or []
    for kind in {str(tool.get("type")) for tool in tools} - {"function"}:
        notices.add(f"Tools of the type {shortened(kind)} are not offered to the model", "tools")
    others, own = text | reasoning | fields, {*_Body.__struct_fields__, "format", "effort"}
    chat = {
        **{name: value for name, value in others.items() if name not in own},
        "messages": _messages(body, notices),
        "max_tokens": body.max_output_tokens,
        "reasoning_effort": reasoning.get("effort"),
        "response_format": _nested(text.get("format"), "json_schema"),
        "tools": [_nested(tool, "function") for tool in tools if tool.get("type") == "function"],
        "tool_choice": _nested(body.tool_choice, "function"),
        "logprobs": "message.output_text.logprobs" in (body.include or ()),
    }
    return Adapted(chat, defaults)


def _nested(given: str | Fields | None, name: str) -> object:
    """Return an object as chat completions have it: all but its type in one of their own."""
    if not isinstance(given, dict):
        return given
    inner = {key: value for key, value in given.items() if key != "type"}
    return {"type": given.get("type"), **({name: inner} if inner else {})}


def _messages(body: _Body, notices: Notices) -> list[Fields]:
    """Return the messages of the input; an answer and its calls are one."""
    items = [{"role": "user", "content": body.input}] if isinstance(body.input, str) else body.input
    system = {"role": "system", "content": body.instructions}
    messages: list[Fields] = [system] if body.instructions else []
    for item in items:
        message = _message(item, notices)
        if "tool_calls" in message and messages and messages[-1]["role"] == "assistant":
            messages[-1].setdefault("tool_calls", []).extend(message["tool_calls"])
        elif message:
            messages.append(message)
    return messages


def _message(item: Fields, notices: Notices) -> Fields:
    """Return what an item says; nothing of an item that no message has."""
    match item.get("type", "message"):
        case "message":
            return {"role": item.get("role"), "content": item.get("content")}
        case "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            call = {"id": item.get("call_id"), "function": function}
            return {"role": "assistant", "tool_calls": [call]}
        case "function_call_output":
            result = {"tool_call_id": item.get("call_id"), "content": item.get("output")}
            return {"role": "tool", **result}
        case "item_reference":
            refuse("Nothing is stored here; send the item instead of an item_reference.", "input")
        case kind if kind != "reasoning":
            notices.add(f"Items of the type {shortened(str(kind))} are not read", "input")
    return {}
