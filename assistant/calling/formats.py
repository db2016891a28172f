"""How tools are described to models, and the formats in which families of models write calls."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal

from assistant.request import Message, Tool, ToolCall

_ID = 9  # characters
_OFFER = Path(__file__).with_name("offer.txt").read_text("utf-8")
Syntax = Literal["json", "xml", "gemma"]
QUOTE = '<|"|>'  # around strings in Gemma 4's syntax; a control token in its vocabulary


@dataclass(frozen=True, slots=True)
class CallFormat:
    """The texts around the names and arguments of calls; some of them may be control tokens."""

    trigger: str  # begins the first call, and never occurs in plain text
    opens: str  # before the name of each call
    between: str  # between its name and its arguments
    closes: str  # after its arguments
    before: str = ""  # before the first call
    joins: str = ""  # between two calls
    after: str = ""  # after the last call
    several: bool = True  # whether an answer may have several calls
    bare: bool = False  # whether an answer may also be a call in bare JSON; see `BARE`
    syntax: Syntax = "json"  # of the arguments
    ended: str = ""  # how prompts end if the template forgets the start of an answer; see `start`
    start: str = ""  # the start of an answer, which is added to prompts with that end

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts of the format."""
        around = self.trigger, self.before, self.opens, self.between, self.closes, self.after
        quotes = [QUOTE] if self.syntax == "gemma" else []
        return tuple(text for text in (*around, *quotes) if text)


_HERMES = '<tool_call>\n{"name": "', '", "arguments": ', "}\n</tool_call>"
HERMES = CallFormat("<tool_call>", *_HERMES, joins="\n", bare=True)
"""Hermes, Qwen2.5, Qwen3, SmolLM3, Granite 4, ...; and models whose template knows no tools."""
_BARE_NAME = r'\{\{?\s*(?:"type":\s*"function",\s*)?"name":\s*"'
BARE = rf"\s*(?:```(?:json)?\s*)?{_BARE_NAME}"
"""The beginning of a call in bare JSON up to its name; Llama and Qwen2.5-Coder write such calls."""
BARE_STARTS = tuple(
    f'{fence}{brace}{kind}"name":"'
    for fence in ("", "```", "```json")
    for brace in ("{", "{{")  # Qwen2.5-Coder sometimes doubles it
    for kind in ("", '"type":"function",')
)
"""All such beginnings, without white space."""
BARE_AGAIN = rf"\s*(?:```\s*```(?:json)?\s*)?{_BARE_NAME}"
"""The beginning of a further call in bare JSON."""
BARE_END = r"\s*\}\}?"
BARE_BETWEEN = r'",\s*"(?:arguments|parameters)":\s*'
_LISTED = '{"name": "', '", "arguments": ', "}"
_XML = "<tool_call>\n<function=", ">\n", "</function>\n</tool_call>"
_GEMMA = "<|tool_call>call:", "{", "}<tool_call|>"  # Gemma 4
FORMATS = (
    HERMES,
    CallFormat("<tool_call>", *_XML, joins="\n", syntax="xml"),  # Qwen3-Coder, Qwen3.5
    CallFormat("[TOOL_CALLS]", "[TOOL_CALLS]", "[ARGS]", ""),  # Devstral, Ministral 3
    CallFormat("[TOOL_CALLS]", *_LISTED, before="[TOOL_CALLS][", joins=", ", after="]"),  # Nemo
    CallFormat("[TOOL_CALLS]", *_LISTED, before="[TOOL_CALLS] [", joins=", ", after="]"),  # 7B 0.3
    CallFormat(  # Llama 3.1 and later
        "<|python_tag|>", '{"name": "', '", "parameters": ', "}", several=False, bare=True
    ),
    CallFormat("<|tool_call>", *_GEMMA, syntax="gemma", ended="<turn|>\n", start="<|turn>model\n"),
)

PROBE_TOOL = Tool(
    "find_zeppelin", "Kumquat.", '{"type": "object", "properties": {"wombat": {"type": "string"}}}'
)
_PROBE_CALL = ToolCall(PROBE_TOOL.name, '{"wombat": "obelisk"}', "zer0thxyl")
PROBE = (
    Message("user", "First quagmire?"),
    Message("assistant", "", tool_calls=(_PROBE_CALL,)),
    Message("tool", "Second xylophone.", call_id="zer0thxyl"),
)
"""A conversation whose rendering shows how a template writes calls."""
_ARGUMENTS = {
    "json": '{"wombat": "obelisk"}',
    "xml": "<parameter=wombat>\nobelisk\n</parameter>\n",
    "gemma": f"wombat:{QUOTE}obelisk{QUOTE}",
}


def find_format(rendered: str) -> CallFormat | None:
    """Return the format of the calls in a rendered `PROBE`; None if it is not a known one."""
    if json.dumps(PROBE_TOOL.description)[1:-1] not in rendered:
        return None
    for call_format in FORMATS:
        head = call_format.before + call_format.opens + PROBE_TOOL.name + call_format.between
        if head + _ARGUMENTS[call_format.syntax] in rendered:
            return call_format
    return None


def tool_object(tool: Tool) -> dict[str, object]:
    """Return a tool in the structure of OpenAI's API, which chat templates expect."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": read_json(tool.parameters),
    }
    return {"type": "function", "function": function}


def largest_tool(tools: Sequence[Tool]) -> str:
    """Return the name and the size of the tool that is longest, for a sentence."""
    tool = max(tools, key=lambda tool: sum(map(len, tool.texts)))
    return f"{tool.name}, with {sum(map(len, tool.texts)):,} characters"


def read_json(text: str) -> object:
    """Return the value of a JSON text; the text itself if it is not valid JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def plain_json(text: str) -> str:
    """Return JSON without escapes for non-ASCII characters; any other text unchanged."""
    value = read_json(text)
    return text if value == text else json.dumps(value, ensure_ascii=False)


def short_id(call_id: str) -> str:
    """Return nine letters and digits for an id, as Mistral's templates demand; others take any."""
    end = call_id.rpartition("_")[2]
    if len(end) == _ID and end.isascii() and end.isalnum():
        return end
    return sha256(call_id.encode(errors="replace")).hexdigest()[:_ID]


def hermes_call(call: ToolCall) -> str:
    """Return a call in Hermes's format."""
    name, arguments = call.name, json.dumps(read_json(call.arguments), ensure_ascii=False)
    return f"{HERMES.opens}{name}{HERMES.between}{arguments}{HERMES.closes}"


def tools_as_text(messages: Sequence[Message], tools: Sequence[Tool]) -> list[Message]:
    """Return a conversation with the tools in the system prompt.

    Calls become text of their answers, and results become messages of the user.
    """
    conversation: list[Message] = []
    for message in messages:
        if message.role == "tool":
            result = f"<tool_response>\n{message.content}\n</tool_response>"
            last = conversation[-1] if conversation else Message("system", "")
            if last.role == "user" and last.content.endswith("</tool_response>"):
                conversation[-1] = Message("user", f"{last.content}\n{result}")
            else:
                conversation.append(Message("user", result))
        else:
            texts = filter(None, (message.content, *map(hermes_call, message.tool_calls)))
            conversation.append(replace(message, content="\n".join(texts), tool_calls=()))
    if tools:
        signatures = (json.dumps(tool_object(tool), ensure_ascii=False) for tool in tools)
        offer = _OFFER.format(tools="\n".join(signatures))
        if conversation and conversation[0].role == "system":
            conversation[0] = Message("system", f"{conversation[0].content}\n\n{offer}")
        else:
            conversation.insert(0, Message("system", offer))
    return conversation
