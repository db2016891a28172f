"""How families of models write the calls of tools."""

import json
from dataclasses import dataclass
from typing import Literal

from assistant.request import Message, Tool, ToolCall

Syntax = Literal["json", "xml", "gemma"]
QUOTE = '<|"|>'
"""What stands around strings in the syntax of Gemma 4."""


@dataclass(frozen=True, slots=True)
class CallFormat:
    """What stands around the names and the arguments of calls; some of it may be control tokens."""

    trigger: str  # what the first call begins with, and no text
    opens: str  # each call, up to the name
    between: str  # the name and the arguments
    closes: str
    before: str = ""  # the first call
    joins: str = ""  # two calls
    after: str = ""  # the last call
    several: bool = True  # whether an answer may have several calls
    bare: bool = False  # whether an answer may also be nothing but JSON; see `BARE`
    syntax: Syntax = "json"  # of the arguments
    ended: str = ""  # what prompts end with where the template forgets to begin the answer
    begun: str = ""  # by this

    @property
    def texts(self) -> tuple[str, ...]:
        """All that stands around calls."""
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
"""Hermes, Qwen2.5, Qwen3, SmolLM3, Granite 4, ...; and models that know no tools."""
_BARE_NAME = r'\{\{?\s*(?:"type":\s*"function",\s*)?"name":\s*"'
BARE = rf"\s*(?:```(?:json)?\s*)?{_BARE_NAME}"
"""What answers begin with that are a call in bare JSON, as Llama's and Qwen2.5-Coder's may be."""
BARE_STARTS = tuple(
    f'{fence}{brace}{kind}"name":"'
    for fence in ("", "```", "```json")
    for brace in ("{", "{{")  # as Qwen2.5-Coder's may be
    for kind in ("", '"type":"function",')
)
"""The same without blanks."""
BARE_AGAIN = rf"\s*(?:```\s*```(?:json)?\s*)?{_BARE_NAME}"
"""What another one begins with."""
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
PROBE = (
    Message("user", "First quagmire?"),
    Message(
        "assistant", "", calls=(ToolCall(PROBE_TOOL.name, '{"wombat": "obelisk"}', "zer0thxyl"),)
    ),
    Message("tool", "Second xylophone.", call_id="zer0thxyl"),
)
"""A conversation that shows what a template does of calls."""
_ARGUMENTS = {
    "json": '{"wombat": "obelisk"}',
    "xml": "<parameter=wombat>\nobelisk\n</parameter>\n",
    "gemma": f"wombat:{QUOTE}obelisk{QUOTE}",
}


def find_format(rendered: str) -> CallFormat | None:
    """Return the format of the calls that a template has written for the probe, if it is known."""
    if json.dumps(PROBE_TOOL.description)[1:-1] not in rendered:
        return None
    return next((each for each in FORMATS if _probe_text(each) in rendered), None)


def _probe_text(form: CallFormat) -> str:
    called = f"{form.opens}{PROBE_TOOL.name}{form.between}{_ARGUMENTS[form.syntax]}"
    return form.before + called
