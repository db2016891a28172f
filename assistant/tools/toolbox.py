"""All tools of a program: those of its servers, and its own."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from assistant.request import ToolCall
from assistant.tools.files import Files
from assistant.tools.json_values import parsed
from assistant.tools.server import Server
from assistant.tools.servers import ServerSettings, is_here, lookalike
from assistant.tools.values import OfferedTool, ServerReport, ToolResult


class Tools:
    """A `Toolbox` of MCP servers, and of tools that read the folders the user named.

    Nothing is started, contacted or read but what the settings name; `offline` leaves out servers
    on other machines.
    """

    def __init__(
        self,
        servers: Sequence[ServerSettings] = (),
        folders: Sequence[Path] = (),
        offline: bool = False,
    ) -> None:
        self._files = Files(folders)
        self._servers: dict[str, Server] = {}
        alike: dict[str, str] = {}
        self._refused: list[Server] = []
        for each in servers:
            other = alike.setdefault(lookalike(each.name), each.name)
            if other != each.name or each.name in self._servers:
                said = f'Its name is too like that of another server, "{other}": rename one.'
                self._refused.append(Server(each, said))
            elif offline and each.url and not is_here(urlsplit(each.url).hostname or ""):
                said = "It is on another machine, and specchat is set to be offline."
                self._refused.append(Server(each, said))
            else:
                self._servers[each.name] = Server(each)
        self._offered: dict[str, OfferedTool] = {}

    async def offered(self) -> tuple[OfferedTool, ...]:
        """Return the tools there are, after starting what does not run, and asking what changed."""
        servers = self._servers.values()
        await asyncio.gather(*(each.learn(anew=True) for each in servers))
        found = (*self._files.offered, *(tool for each in servers for tool in each.tools))
        self._offered = {each.tool.name: each for each in found}
        return found

    async def call(self, call: ToolCall) -> ToolResult:
        """Call a tool as it was offered: one that has changed since is not called."""
        tool = self._offered.get(call.name)
        if tool is None:
            return ToolResult(f"There is no tool named {call.name[:64]}.", failed=True)
        try:
            arguments = parsed((call.arguments or "{}").encode("utf-8", "replace"))
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            return ToolResult("The arguments are not a JSON object.", failed=True)
        if tool in self._files.offered:
            return await self._files.call(call.name, arguments)
        server = self._servers[tool.server]
        if await server.learn() and tool not in server.tools:
            said = f"{call.name} is not what it was when it was offered, so it was not called."
            return ToolResult(said, failed=True)
        return await server.call(call.name, arguments)

    def reports(self) -> tuple[ServerReport, ...]:
        """Return how each server is; specchat's own tools are always ready."""
        servers = [*self._servers.values(), *self._refused]
        return (*self._files.reports, *(each.report() for each in servers))

    async def close(self) -> None:
        """Stop all servers."""
        await asyncio.gather(*(each.stop() for each in self._servers.values()))
