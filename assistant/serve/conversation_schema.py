"""The messages and tools of a chat completion: checked, and made a conversation and its `Tool`s."""

from typing import Annotated, Any, Literal

import msgspec

from assistant.request import Message, Tool, ToolCall, ToolChoice
from assistant.serve.api_error import refuse

UNREADABLE = "unreadable"  # the key under which arguments stand that are no JSON object

MOST_CALLS = 10_000  # in a conversation
MOST_TOOLS = 128
LONGEST_TOOLS = 1_000_000  # characters of all together; more takes minutes to parse
_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
_Name = Annotated[str, msgspec.Meta(pattern=r"\A[a-zA-Z0-9_-]{1,64}\Z")]


class _Part(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["text"]
    text: str


Content = str | list[_Part]


def text_of(content: Content | None) -> str:
    """Return the text of a content, its parts one after another."""
    return "".join(part.text for part in content or ()) if not isinstance(content, str) else content


class _CalledFunction(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: str
    provider_specific_fields: object = None  # litellm adds it to answers, here and below


class _Call(msgspec.Struct, tag_field="type", tag="function", forbid_unknown_fields=True):
    id: str
    function: _CalledFunction
    index: int | None = None  # of deltas, which some clients send back
    provider_specific_fields: object = None


class IncomingMessage(msgspec.Struct, forbid_unknown_fields=True):
    """One message as a client sends it."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Content | None = None
    name: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None
    function_call: None = None  # OpenAI's client adds it and the next two to answers
    audio: None = None
    annotations: list[object] | None = None
    provider_specific_fields: object = None


def conversation(
    incoming: list[IncomingMessage], system: tuple[Message, ...]
) -> tuple[Message, ...]:
    """Return the conversation, preceded by `system` unless it has a system prompt of its own.

    Raises:
        ApiError: a result belongs to no call, or the last calls have no results.
    """
    if sum(len(message.tool_calls or ()) for message in incoming) > MOST_CALLS:
        refuse(f"There are more than {MOST_CALLS:,} calls.", "messages")
    unanswered: set[str] = set()
    for i, message in enumerate(incoming):
        _check(message, f"messages[{i}]", unanswered)
    if incoming[-1].tool_calls:
        refuse("The results of the calls in the last message are missing.", "messages")
    messages = tuple(map(_message, incoming))
    return messages if messages[0].role == "system" else (*system, *messages)


def _check(message: IncomingMessage, where: str, unanswered: set[str]) -> None:
    """Refuse calls and results that do not match; remember the ids of unanswered calls."""
    if message.tool_calls is not None and message.role != "assistant":
        refuse("Only an assistant's message has tool_calls.", f"{where}.tool_calls")
    if message.tool_calls:
        unanswered.clear()
    for j, call in enumerate(message.tool_calls or ()):
        if call.id in unanswered:
            refuse(f"Two calls have the id {call.id}.", f"{where}.tool_calls[{j}].id")
        unanswered.add(call.id)
    if message.role == "tool":
        if message.tool_call_id not in unanswered:
            why = "The tool_call_id of a result must be that of a call before it."
            refuse(why, f"{where}.tool_call_id")
        unanswered.remove(message.tool_call_id)
    elif message.tool_call_id is not None:
        refuse("Only a tool's message has a tool_call_id.", f"{where}.tool_call_id")


def _arguments(text: str) -> str:
    """Return arguments as a JSON object: an empty text as {}, and invalid JSON wrapped in one.

    The arguments are invalid if the model was cut within them.
    """
    try:
        msgspec.json.decode(text or "{}", type=dict)
    except (ValueError, RecursionError):
        return msgspec.json.encode({UNREADABLE: text}).decode()
    return text or "{}"


def _message(message: IncomingMessage) -> Message:
    tool_calls = tuple(
        ToolCall(call.function.name, _arguments(call.function.arguments), call.id)
        for call in message.tool_calls or ()
    )
    return Message(
        "system" if message.role == "developer" else message.role,
        text_of(message.content),
        thought=message.reasoning_content or "",
        tool_calls=tool_calls,
        call_id=message.tool_call_id or "",
    )


class _OfferedFunction(msgspec.Struct, forbid_unknown_fields=True):
    name: _Name
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class FunctionTool(msgspec.Struct, tag_field="type", tag="function", forbid_unknown_fields=True):
    """A function that the model may call."""

    function: _OfferedFunction


class _Named(msgspec.Struct, forbid_unknown_fields=True):
    name: str


class NamedFunction(msgspec.Struct, tag_field="type", tag="function", forbid_unknown_fields=True):
    """The function that the model has to call."""

    function: _Named


Tools = Annotated[list[FunctionTool], msgspec.Meta(max_length=MOST_TOOLS)]
Choice = ToolChoice | NamedFunction
Offer = tuple[tuple[Tool, ...], ToolChoice]


def offered(tools: list[FunctionTool], choice: Choice | None) -> Offer:
    """Return the tools that the model may call, and whether it has to call one.

    Raises:
        ApiError: a tool is invalid, or the choice names one that is not there.
    """
    offered_tools = tuple(_tool(tool.function, i) for i, tool in enumerate(tools))
    names = [tool.name for tool in offered_tools]
    for i, name in enumerate(names):
        if name in names[:i]:
            refuse(f"Two tools have the name {name}.", f"tools[{i}].function.name")
    size = sum(len(tool.description) + len(tool.parameters) for tool in offered_tools)
    if size > LONGEST_TOOLS:
        refuse(f"The tools have {size:,} characters; the limit is {LONGEST_TOOLS:,}.", "tools")
    if not offered_tools and choice not in (None, "none", "auto"):
        refuse("tool_choice asks for a call, but there are no tools.", "tool_choice")
    if not isinstance(choice, NamedFunction):
        return offered_tools, choice or "auto"
    wanted = choice.function.name
    if wanted not in names:
        refuse(f"tool_choice names {wanted}, which is none of the tools.", "tool_choice")
    return (offered_tools[names.index(wanted)],), "required"


def _tool(function: _OfferedFunction, index: int) -> Tool:
    schema = _NO_PARAMETERS if function.parameters is None else function.parameters
    if schema.get("type", "object") != "object":
        why = f"The parameters of {function.name} must be a schema of an object."
        refuse(why, f"tools[{index}].function.parameters")
    text = msgspec.json.encode({"type": "object", **schema}).decode()
    return Tool(function.name, function.description or "", text, bool(function.strict))
