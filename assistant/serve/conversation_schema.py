"""The messages and tools of a chat completion: checked, and made a conversation and its `Tool`s."""

from typing import Annotated, Any, Literal

import msgspec

from assistant.request import Message, Tool, ToolCall, ToolChoice
from assistant.serve.api_error import refuse
from assistant.serve.dialect import Fields, Notices

UNREADABLE = "unreadable"  # the key under which arguments stand that are no JSON object

MOST_CALLS = 10_000  # in a conversation
MOST_TOOLS = 128
LONGEST_TOOLS = 1_000_000  # characters of all together; more takes minutes to parse
_NO_PARAMETERS: Fields = {"type": "object", "properties": {}, "additionalProperties": False}


class _Part(msgspec.Struct):
    type: str = "text"
    text: str | None = None


Content = str | list[_Part | str]
_HIDDEN = ("thinking", "redacted_thinking", "reasoning", "refusal")  # parts of answers, not shown


def text_of(content: Content | None, between: str = "\n") -> str:
    """Return the text of a content; ApiError if a part is no text."""
    texts: list[str] = []
    for part in [content] if isinstance(content, str) else content or ():
        if isinstance(part, str):
            texts.append(part)
        elif part.text is not None and part.type not in _HIDDEN:
            texts.append(part.text)
        elif part.type not in _HIDDEN:
            why = f"The model reads text only, and a message has a part of the type {part.type}."
            refuse(why, "messages")
    return between.join(texts)


class _CalledFunction(msgspec.Struct):
    name: str
    arguments: str | Fields | None = None


class _Call(msgspec.Struct):
    function: _CalledFunction
    id: str | None = None
    type: Literal["function"] | None = None


class IncomingMessage(msgspec.Struct):
    """One message as a client sends it."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Content | None = None
    reasoning_content: str | None = None
    reasoning: Any = None  # the same, as vLLM and OpenRouter call it
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


def conversation(
    incoming: list[IncomingMessage], system: tuple[Message, ...], notices: Notices
) -> tuple[Message, ...]:
    """Return the conversation, preceded by `system` unless it has a system prompt of its own.

    ApiError if the last calls have no results, or a message is no text.
    """
    if sum(len(message.tool_calls or ()) for message in incoming) > MOST_CALLS:
        refuse(f"There are more than {MOST_CALLS:,} calls.", "messages")
    unanswered: dict[str, None] = {}
    for i, message in enumerate(incoming):
        _match_results(message, f"messages[{i}]", unanswered, notices)
    if incoming[-1].tool_calls:
        refuse("The results of the calls in the last message are missing.", "messages")
    messages = tuple(map(_message, incoming))
    return messages if messages[0].role == "system" else (*system, *messages)


def _match_results(
    message: IncomingMessage, where: str, unanswered: dict[str, None], notices: Notices
) -> None:
    """Give each call an id of its own, and each result that of its call: by order if need be."""
    if message.tool_calls and message.role != "assistant":
        refuse("Only an assistant's message has tool_calls.", f"{where}.tool_calls")
    if message.tool_calls:
        unanswered.clear()
    for j, call in enumerate(message.tool_calls or ()):
        if not call.id or call.id in unanswered:
            param = f"{where}.tool_calls[{j}].id"
            notices.add("Calls without an id of their own are matched by order", param)
            call.id = f"{where}.{j}"
        unanswered[call.id] = None
    if message.role == "tool" and message.tool_call_id not in unanswered:
        param = f"{where}.tool_call_id"
        notices.add("Results without the tool_call_id of a call are matched by order", param)
        message.tool_call_id = next(iter(unanswered), None)
    elif message.role != "tool" and message.tool_call_id:
        notices.add("A tool_call_id is only used in a tool's message", f"{where}.tool_call_id")
        message.tool_call_id = None
    unanswered.pop(message.tool_call_id or "", None)


def _arguments(written: str | Fields | None) -> str:
    """Return arguments as a JSON object; invalid JSON, from a cut model, is wrapped in one."""
    text = msgspec.json.encode(written).decode() if isinstance(written, dict) else written
    try:
        msgspec.json.decode(text or "{}", type=dict)
    except (ValueError, RecursionError):
        return msgspec.json.encode({UNREADABLE: text}).decode()
    return text or "{}"


def _message(message: IncomingMessage) -> Message:
    tool_calls = tuple(
        ToolCall(call.function.name, _arguments(call.function.arguments), call.id or "")
        for call in message.tool_calls or ()
    )
    thought = message.reasoning_content or message.reasoning
    return Message(
        "system" if message.role == "developer" else message.role,
        text_of(message.content),
        thought=thought if isinstance(thought, str) else "",
        tool_calls=tool_calls,
        call_id=message.tool_call_id or "",
    )


class _OfferedFunction(msgspec.Struct):
    name: str
    description: str | None = None
    parameters: Fields | None = None
    strict: bool | None = None


class Function(msgspec.Struct):
    """A function that the model may call, or, as a choice, has to call."""

    function: _OfferedFunction
    type: Literal["function"] | None = None


Tools = Annotated[list[Function], msgspec.Meta(max_length=MOST_TOOLS)]
Choice = ToolChoice | Function


def offer(tools: list[Function], choice: Choice | None) -> tuple[tuple[Tool, ...], ToolChoice]:
    """Return the tools that the model may call, and whether it has to; ApiError if one is wrong."""
    offer = tuple(_tool(tool.function, i) for i, tool in enumerate(tools))
    names = [tool.name for tool in offer]
    size = sum(len(tool.description) + len(tool.parameters) for tool in offer)
    if size > LONGEST_TOOLS:
        refuse(f"The tools have {size:,} characters; the limit is {LONGEST_TOOLS:,}.", "tools")
    if not offer and choice not in (None, "none", "auto"):
        refuse("tool_choice asks for a call, but there are no tools.", "tool_choice")
    if not isinstance(choice, Function):
        return offer, choice or "auto"
    wanted = choice.function.name
    if wanted not in names:
        refuse(f"tool_choice names {wanted}, which is none of the tools.", "tool_choice")
    return (offer[names.index(wanted)],), "required"


def _tool(function: _OfferedFunction, index: int) -> Tool:
    schema = _NO_PARAMETERS if function.parameters is None else function.parameters
    if schema.get("type", "object") != "object":
        why = f"The parameters of {function.name} must be a schema of an object."
        refuse(why, f"tools[{index}].function.parameters")
    text = msgspec.json.encode({"type": "object", **schema}).decode()
    return Tool(function.name, function.description or "", text, bool(function.strict))
