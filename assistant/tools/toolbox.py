"""All tools of a program: built-in ones, and those of its servers."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from assistant.request import ToolCall
from assistant.tools.files import Files
from assistant.tools.server import Server
from assistant.tools.server_settings import ServerSettings
from assistant.tools.values import OfferedTool, ServerReport, ToolResult, tool_result


class Toolbox:
    """Built-in tools and MCP servers: exactly those that the settings name, for one event loop.

    Servers are started on demand. `offline` leaves out servers on other machines.
    """

    def __init__(
        self,
        servers: Sequence[ServerSettings] = (),
        folders: Sequence[Path] = (),
        offline: bool = False,
    ) -> None:
        self._files = Files(folders)
        away = "It is on another machine, and specchat is set to be offline."
        self._servers = {
            server.name: Server(server, away if offline and not server.is_here else "")
            for server in servers
        }

    async def offered(self) -> tuple[OfferedTool, ...]:
        """Start the servers that do not run; return all tools.

        A server that fails has none, and `reports` says why.
        """
        lists = await asyncio.gather(*(server.offered() for server in self._servers.values()))
        return (*self._files.offered, *(tool for tools in lists for tool in tools))

    async def call(self, call: ToolCall, allowed: OfferedTool) -> ToolResult | None:
        """Call a tool; an error is a failed result. None: the tool has changed since."""
        try:
            text = (call.arguments or "{}").encode("utf-8", "replace")
            arguments = msgspec.json.decode(text, type=dict[str, Any])
        except (ValueError, RecursionError):
            return tool_result("The arguments are not a JSON object.", failed=True)
        if allowed in self._files.offered:
            return await self._files.call(call.name, arguments)
        return await self._servers[allowed.server].call(allowed, arguments)

    def reports(self) -> tuple[ServerReport, ...]:
        """Return the state of each server; built-in tools are always ready."""
        return (*self._files.reports, *(server.report() for server in self._servers.values()))

    async def close(self) -> None:
        """Stop all servers."""
        await asyncio.gather(*(server.stop() for server in self._servers.values()))
