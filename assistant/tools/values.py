"""Values of tools: settings, tools, the states of servers, results."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from assistant.request import Tool
from models.errors import well_formed

if TYPE_CHECKING:
    from assistant.store.values import State
    from assistant.tools.server_settings import ServerSettings

RESULT_CHARACTERS = 12_000  # about 4,000 tokens, half of the usual context
ServerState = Literal["off", "starting", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """The tools that a model may be offered."""

    folders: tuple[Path, ...] = ()  # that the built-in tools may read
    rounds: int = 8  # answers with calls, before the user is asked whether to go on
    servers: "tuple[ServerSettings, ...]" = ()

    def __bool__(self) -> bool:
        return bool(self.folders or self.servers)


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as the model and the user see it."""

    tool: Tool  # its name is the server's, two underscores, and its own
    server: str
    read_only: bool  # as its server says
    fingerprint: str  # a hash of the description, the schema and the command


@dataclass(frozen=True, slots=True)
class ServerReport:
    """The state of a server."""

    name: str
    state: ServerState
    reason: str  # why it failed, in a sentence
    tools: tuple[OfferedTool, ...]
    errors: str  # the end of its standard error


@dataclass(frozen=True, slots=True)
class ToolResult:
    """How a call ended: what it returned, or why it returned nothing."""

    text: str
    state: "State" = "complete"
    stop: str | None = None  # why it is not complete


def tool_result(text: str, failed: bool = False) -> ToolResult:
    """Return a result, cut to fit a context, without nulls and lone surrogates."""
    shown, rest = text[:RESULT_CHARACTERS], len(text) - RESULT_CHARACTERS
    shown = well_formed(shown).replace("\0", "\ufffd")
    shown += f"\n[{rest:,} more characters were left out]" if rest > 0 else ""
    return ToolResult(shown, "failed", "failed") if failed else ToolResult(shown)


def unknown_tool(name: str) -> ToolResult:
    """Return how a call of a tool ends that is not offered."""
    return tool_result(f"There is no tool {name}.", failed=True)


class ServerStopped(Exception):
    """A server cannot be used any more; the message says why."""
