"""The messages of a chat completion: checked, and made a conversation."""

from typing import Literal

import msgspec

from assistant.request import Message, ToolCall
from assistant.serve.refusal import refuse

UNREADABLE = "unreadable"  # the key under which arguments stand that are no JSON object


class _Part(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["text"]
    text: str


class _Function(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: str
    provider_specific_fields: object = None  # litellm adds it to answers, here and below


class _Call(msgspec.Struct, tag_field="type", tag="function", forbid_unknown_fields=True):
    id: str
    function: _Function
    index: int | None = None  # of deltas, which some clients send back
    provider_specific_fields: object = None


class IncomingMessage(msgspec.Struct, forbid_unknown_fields=True):
    """One message as a client sends it."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[_Part] | None = None
    name: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None
    function_call: None = None  # OpenAI's client adds it and the next two to answers
    audio: None = None
    annotations: list[object] | None = None
    provider_specific_fields: object = None


def conversation(said: list[IncomingMessage], system: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the conversation, preceded by `system` unless it has a system prompt of its own.

    Raises:
        Refusal: a result belongs to no call, or the last calls have no results.
    """
    unanswered: set[str] = set()
    for i, each in enumerate(said):
        _check(each, f"messages[{i}]", unanswered)
    if said[-1].tool_calls:
        refuse("The results of the calls in the last message are missing.", "messages")
    messages = tuple(_message(each) for each in said)
    return messages if messages[0].role == "system" else (*system, *messages)


def _check(said: IncomingMessage, where: str, unanswered: set[str]) -> None:
    """Refuse calls and results that do not match; keep the ids of unanswered calls."""
    if said.tool_calls is not None and said.role != "assistant":
        refuse("Only an assistant's message has tool_calls.", f"{where}.tool_calls")
    if said.tool_calls:
        unanswered.clear()
    for j, call in enumerate(said.tool_calls or ()):
        if call.id in unanswered:
            refuse(f"There are two calls of the id {call.id}.", f"{where}.tool_calls[{j}].id")
        unanswered.add(call.id)
    if said.role == "tool":
        if said.tool_call_id not in unanswered:
            why = "The tool_call_id of a result must be that of a call before it."
            refuse(why, f"{where}.tool_call_id")
        unanswered.remove(said.tool_call_id)
    elif said.tool_call_id is not None:
        refuse("Only a tool's message has a tool_call_id.", f"{where}.tool_call_id")


def _arguments(text: str) -> str:
    """Return arguments as a JSON object: an empty text is {}, and invalid JSON is wrapped in one.

    A model may have been cut within its arguments.
    """
    try:
        msgspec.json.decode(text or "{}", type=dict)
    except (ValueError, RecursionError):
        return msgspec.json.encode({UNREADABLE: text}).decode()
    return text or "{}"


def _message(said: IncomingMessage) -> Message:
    calls = tuple(
        ToolCall(call.function.name, _arguments(call.function.arguments), call.id)
        for call in said.tool_calls or ()
    )
    parts = said.content if isinstance(said.content, list) else [_Part("text", said.content or "")]
    return Message(
        "system" if said.role == "developer" else said.role,
        "".join(part.text for part in parts),
        thought=said.reasoning_content or "",
        calls=calls,
        call_id=said.tool_call_id or "",
    )
