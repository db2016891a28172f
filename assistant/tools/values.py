"""What is known of tools, and what they return."""

from dataclasses import dataclass
from typing import Literal, Protocol

from assistant.request import Tool, ToolCall

ServerState = Literal["off", "starting", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of a server, as the model and the user see it."""

    tool: Tool  # its name is the server's, two underscores, and its own
    server: str
    read_only: bool  # as its server says
    fingerprint: str  # of all that its server says of it: an approval is for exactly that


@dataclass(frozen=True, slots=True)
class ServerReport:
    """How a server is."""

    name: str
    state: ServerState
    problem: str  # why it failed, in a sentence
    tools: tuple[OfferedTool, ...]
    errors: str  # the end of what it wrote to its standard error


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call returned, cut to a length that a context can hold."""

    text: str
    failed: bool = False
    left_out: int = 0  # characters


class Toolbox(Protocol):
    """Tools that can be called, from one event loop. Servers are started when they are needed."""

    async def offered(self) -> tuple[OfferedTool, ...]:
        """Return the tools there are; a server that fails has none, and `reports` says why."""
        ...

    async def call(self, call: ToolCall) -> ToolResult:
        """Call a tool. It never raises: what went wrong is a result. Cancelling ends the call."""
        ...

    def reports(self) -> tuple[ServerReport, ...]:
        """Return how each server is."""
        ...

    async def close(self) -> None:
        """Stop all servers."""
        ...
