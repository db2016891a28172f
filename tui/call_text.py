"""Calls and what tools may do, in words."""

import json

from assistant.request import ToolCall
from assistant.tools.server_settings import BUILT_IN
from assistant.tools.values import OfferedTool


def arguments(call: ToolCall) -> list[tuple[str, str]]:
    """Return the arguments of a call by their names, as a user reads them."""
    try:
        found = json.loads(call.arguments)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return [("arguments", call.arguments)]
    return [
        (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in found.items()
    ]


def in_a_line(call: ToolCall) -> list[str]:
    """Return the name and, if there are any, the arguments of a call, for a line."""
    given = ", ".join(f"{name}: {' '.join(value.split())}" for name, value in arguments(call))
    return [call.name, given] if given else [call.name]


def access(tool: OfferedTool) -> str:
    """Say what a tool may do, as far as that is known."""
    if not tool.server:
        return "No server offers this tool now."
    if tool.server == BUILT_IN:
        return "Built in. It reads the folders you named, nothing else."
    if tool.read_only:
        return f"From the server {tool.server}, which says that it only reads."
    return f"From the server {tool.server}. It may change or send something."
