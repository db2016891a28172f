"""The messages of a chat completion, checked, and the conversation that they are."""

from typing import Literal

import msgspec

from assistant.request import Message, ToolCall
from assistant.serve.refusal import refuse

UNREADABLE = "unreadable"
"""What arguments are called that are no JSON object."""


class _Part(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["text"]
    text: str


class _Function(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: str
    provider_specific_fields: object = None  # as litellm writes answers down, here and below


class _Call(msgspec.Struct, tag_field="type", tag="function", forbid_unknown_fields=True):
    id: str
    function: _Function
    index: int | None = None  # as deltas have it, which some clients send back
    provider_specific_fields: object = None


class Said(msgspec.Struct, forbid_unknown_fields=True):
    """One message, as it comes."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[_Part] | None = None
    name: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None
    function_call: None = None  # of answers as OpenAI's client writes them down
    audio: None = None
    annotations: list[object] | None = None
    provider_specific_fields: object = None


def conversation(said: list[Said], system: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return a conversation, after the usual system prompt unless it has its own.

    Raises:
        Refusal: a result is of no call, or the last calls have none.
    """
    unanswered: set[str] = set()
    for i, each in enumerate(said):
        _check(each, f"messages[{i}]", unanswered)
    if said[-1].tool_calls:
        refuse("The results of the calls in the last message are missing.", "messages")
    messages = tuple(_message(each) for each in said)
    return messages if messages[0].role == "system" else (*system, *messages)


def _check(said: Said, where: str, unanswered: set[str]) -> None:
    """Refuse calls and results that do not belong together; note those that wait for theirs."""
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
    """Return arguments as an object; some programs write none for an empty one.

    A model may have been cut within them, or may have written no JSON.
    """
    try:
        is_object = isinstance(msgspec.json.decode(text or "{}"), dict)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        is_object = False
    return (text or "{}") if is_object else msgspec.json.encode({UNREADABLE: text}).decode()


def _message(said: Said) -> Message:
    calls = tuple(
        ToolCall(call.function.name, _arguments(call.function.arguments), call.id)
        for call in said.tool_calls or ()
    )
    return Message(
        "system" if said.role == "developer" else said.role,
        _text(said),
        thought=said.reasoning_content or "",
        calls=calls,
        call_id=said.tool_call_id or "",
    )


def _text(said: Said) -> str:
    if isinstance(said.content, list):
        return "".join(part.text for part in said.content)
    return said.content or ""
