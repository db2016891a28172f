"""Calls along a path of messages: which are open, and what the model is told of each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from assistant.request import Message, Tool, ToolCall
from assistant.store.values import State
from assistant.tools.servers import BUILT_IN
from assistant.tools.values import OfferedTool, ToolResult

if TYPE_CHECKING:
    from assistant.store import Record

End = tuple[str, State, str | None]
"""How a call ended: the text, the state and the stop that are kept of it."""
REFUSED: End = ("", "stopped", "refused")
STOPPED: End = ("", "stopped", "cancelled")

NO_MORE = "No more calls will be run. Answer the question in words, with what is known."
"""What a model is told with the last result before an answer that must not call.

Without that, small models write what looks like a call as their answer.
"""
NOT_RUN = "This call was not run: the user went on without it."
_UNRETURNED = {
    "refused": "The user did not allow this call.",
    "cancelled": "The user stopped this call before it returned.",
    "interrupted": "The program ended before this call returned.",
}


def open_calls(path: Sequence[Record]) -> tuple[ToolCall, ...]:
    """Return the calls at the end of a path that have no result yet."""
    results: set[str] = set()
    for record in reversed(path):
        if record.role != "tool":
            return tuple(call for call in record.calls if call.id not in results)
        results.update(call.id for call in record.calls)
    return ()


def again(answers: Sequence[Sequence[ToolCall]]) -> bool:
    """Say whether the last of some answers asks for nothing but what was asked for before it.

    Small models do so without end; the next answer is then to be one without calls.
    """
    *before, last = [{(call.name, call.arguments) for call in calls} for calls in answers] or [
        set()
    ]
    return bool(last) and last <= set().union(*before)


def asked(path: Iterable[Record]) -> list[tuple[ToolCall, ...]]:
    """Return what the answers since the last question ask for."""
    answers: list[tuple[ToolCall, ...]] = []
    for record in path:
        if record.role == "user":
            answers.clear()
        elif record.role == "assistant" and record.calls:
            answers.append(record.calls)
    return answers


def told(end: End) -> str:
    """Return what the model is told of how a call ended."""
    text, _, stop = end
    return text or _UNRETURNED.get(stop or "", "It returned nothing.")


def without_more(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return a conversation whose last result says that no more calls will be run."""
    *before, last = messages
    if last.role != "tool":
        return tuple(messages)
    return (*before, replace(last, content=f"{last.content}\n\n[{NO_MORE}]"))


def outcome(result: ToolResult) -> End:
    """Return how a call ended that has returned."""
    text = result.text
    if result.left_out:
        text += f"\n[{result.left_out:,} more characters were left out]"
    return (text, "failed", "failed") if result.failed else (text, "complete", None)


def unknown(name: str) -> End:
    """Return how a call ends of a tool that is not offered."""
    return f"There is no tool {name}.", "failed", "failed"


def stranger(call: ToolCall) -> OfferedTool:
    """Return what is known of a tool that is not offered, or no longer."""
    return OfferedTool(Tool(call.name, "", "{}"), "", False, "")


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
        return "It is built in, and reads the folders you named, nothing else."
    if tool.read_only:
        return f"The server {tool.server} says that it only reads."
    return f"It is of the server {tool.server}, and may change or send something."
