"""The tools of a chat completion: checked, and made `Tool`s."""

from typing import Annotated, Any

import msgspec

from assistant.request import Tool, ToolChoice
from assistant.serve.refusal import refuse

MOST_TOOLS = 128
LONGEST_TOOLS = (
    1_000_000  # characters of all together; what is longer takes minutes to parse_completion
)
_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
_Name = Annotated[str, msgspec.Meta(pattern=r"\A[a-zA-Z0-9_-]{1,64}\Z")]


class _Function(msgspec.Struct, forbid_unknown_fields=True):
    name: _Name
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class FunctionTool(msgspec.Struct, tag_field="type", tag="function", forbid_unknown_fields=True):
    """A function that the model may call."""

    function: _Function


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
        Refusal: a tool is invalid, or the choice names one that is not there.
    """
    found = tuple(_tool(each.function, i) for i, each in enumerate(tools))
    names = [tool.name for tool in found]
    for i, name in enumerate(names):
        if name in names[:i]:
            refuse(f"There are two tools of the name {name}.", f"tools[{i}].function.name")
    size = sum(len(tool.description) + len(tool.parameters) for tool in found)
    if size > LONGEST_TOOLS:
        refuse(f"The tools have {size:,} characters; {LONGEST_TOOLS:,} are the most.", "tools")
    if not found and choice not in (None, "none", "auto"):
        refuse("tool_choice asks for a call, but there are no tools.", "tool_choice")
    if not isinstance(choice, NamedFunction):
        return found, choice or "auto"
    wanted = choice.function.name
    if wanted not in names:
        refuse(f"tool_choice names {wanted}, which is none of the tools.", "tool_choice")
    return (found[names.index(wanted)],), "required"


def _tool(function: _Function, index: int) -> Tool:
    schema = _NO_PARAMETERS if function.parameters is None else function.parameters
    if schema.get("type", "object") != "object":
        why = f"The parameters of {function.name} must be a schema of an object."
        refuse(why, f"tools[{index}].function.parameters")
    text = msgspec.json.encode({"type": "object", **schema}).decode()
    return Tool(function.name, function.description or "", text, bool(function.strict))
