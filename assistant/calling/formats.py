"""The formats in which families of models write tool calls."""

import json
from dataclasses import dataclass
from typing import Literal

from assistant.request import Message, Tool, ToolCall

Syntax = Literal["json", "xml", "gemma"]
QUOTE = '<|"|>'
"""The quotes of strings in Gemma 4's syntax; a control token in its vocabulary."""


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
    ended: str = ""  # the end of prompts whose template forgets the start of the answer ...
    begun: str = ""  # ... and that start, which is added

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts of the format."""
        around = self.trigger, self.before, self.opens, self.between, self.closes, self.after
        quotes = [QUOTE] if self.syntax == "gemma" else []
        return tuple(text for text in (*around, *quotes) if text)


HERMES = CallFormat(
    "<tool_call>",
    '<tool_call>\n{"name": "',
    '", "arguments": ',
    "}\n</tool_call>",
    joins="\n",
    bare=True,
)
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
FORMATS = (
    HERMES,
    CallFormat(  # Qwen3-Coder, Qwen3.5
        "<tool_call>",
        "<tool_call>\n<function=",
        ">\n",
        "</function>\n</tool_call>",
        joins="\n",
        syntax="xml",
    ),
    CallFormat("[TOOL_CALLS]", "[TOOL_CALLS]", "[ARGS]", ""),  # Devstral, Ministral 3
    CallFormat("[TOOL_CALLS]", *_LISTED, before="[TOOL_CALLS][", joins=", ", after="]"),  # Nemo
    CallFormat("[TOOL_CALLS]", *_LISTED, before="[TOOL_CALLS] [", joins=", ", after="]"),  # 7B 0.3
    CallFormat(  # Llama 3.1 and later
        "<|python_tag|>", '{"name": "', '", "parameters": ', "}", several=False, bare=True
    ),
    CallFormat(  # Gemma 4
        "<|tool_call>",
        "<|tool_call>call:",
        "{",
        "}<tool_call|>",
        syntax="gemma",
        ended="<turn|>\n",
        begun="<|turn>model\n",
    ),
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
