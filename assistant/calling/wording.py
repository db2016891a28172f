"""Tools in plain words, for templates that know none: Hermes's words, which many models know."""

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from assistant.calling.formats import HERMES
from assistant.request import Message, Tool, ToolCall

_ID = 9  # characters
_OFFER = Path(__file__).with_name("offer.txt").read_text("utf-8")


def described(tool: Tool) -> dict[str, object]:
    """Return a tool in the structure of OpenAI's API, which chat templates expect."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": read_json(tool.parameters),
    }
    return {"type": "function", "function": function}


def largest(tools: Sequence[Tool]) -> str:
    """Return the name and the size of the tool that takes the most room, for a sentence."""
    tool = max(tools, key=lambda tool: sum(map(len, tool.texts)))
    return f"{tool.name}, with {sum(map(len, tool.texts)):,} characters"


def read_json(text: str) -> object:
    """Return the value of a JSON text; the text itself if it is not valid JSON."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


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


def written(call: ToolCall) -> str:
    """Return a call in Hermes's format."""
    name, arguments = call.name, json.dumps(read_json(call.arguments), ensure_ascii=False)
    return f"{HERMES.opens}{name}{HERMES.between}{arguments}{HERMES.closes}"


def in_words(messages: Sequence[Message], tools: Sequence[Tool]) -> list[Message]:
    """Return a conversation with the tools in the system prompt.

    Calls become text of their answers, and results become messages of the user.
    """
    said: list[Message] = []
    for message in messages:
        if message.role == "tool":
            result = f"<tool_response>\n{message.content}\n</tool_response>"
            if said and said[-1].role == "user" and said[-1].content.endswith("</tool_response>"):
                said[-1] = Message("user", f"{said[-1].content}\n{result}")
            else:
                said.append(Message("user", result))
        else:
            texts = [message.content] if message.content else []
            texts += map(written, message.tool_calls)
            said.append(replace(message, content="\n".join(texts), tool_calls=()))
    if tools:
        signatures = (json.dumps(described(tool), ensure_ascii=False) for tool in tools)
        offer = _OFFER.format(tools="\n".join(signatures))
        if said and said[0].role == "system":
            said[0] = Message("system", f"{said[0].content}\n\n{offer}")
        else:
            said.insert(0, Message("system", offer))
    return said
