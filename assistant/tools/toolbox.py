"""The tools of a program: those of its folders and servers, and the ones that are offered."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from assistant.request import Tool, ToolCall
from assistant.tools import values
from assistant.tools.approvals import Approval, Approvals
from assistant.tools.files import Files
from assistant.tools.server import Server
from models.errors import UsageError
from models.files.places import data_dir


class Toolbox:
    """Built-in tools and MCP servers: exactly those that the settings name, for one event loop.

    Servers are started on demand. `offline` leaves out servers on other machines.
    """

    def __init__(
        self,
        servers: Sequence[values.ServerSettings] = (),
        folders: Sequence[Path] = (),
        offline: bool = False,
    ) -> None:
        self._files = Files(folders)
        away = "It is on another machine, and specchat is set to be offline."
        self._servers = {
            server.name: Server(server, away if offline and not server.is_here else "")
            for server in servers
        }

    async def offered(self) -> tuple[values.OfferedTool, ...]:
        """Start the servers that do not run; return all tools.

        A server that fails has none, and `reports` says why.
        """
        lists = await asyncio.gather(*(server.offered() for server in self._servers.values()))
        return (*self._files.offered, *(tool for tools in lists for tool in tools))

    async def call(self, call: ToolCall, allowed: values.OfferedTool) -> values.ToolResult | None:
        """Call a tool; an error is a failed result. None: the tool has changed since."""
        try:
            text = (call.arguments or "{}").encode("utf-8", "replace")
            arguments = msgspec.json.decode(text, type=dict[str, Any])
        except (ValueError, RecursionError):
            return values.tool_result("The arguments are not a JSON object.", failed=True)
        if allowed in self._files.offered:
            return await self._files.call(call.name, arguments)
        return await self._servers[allowed.server].call(allowed, arguments)

    def reports(self) -> tuple[values.ServerReport, ...]:
        """Return the state of each server; built-in tools are always ready."""
        return (*self._files.reports, *(server.report() for server in self._servers.values()))

    async def close(self) -> None:
        """Stop all servers."""
        await asyncio.gather(*(server.stop() for server in self._servers.values()))


class ToolSet:
    """Know the tools, which conversations have them, and what is approved.

    Args:
        names: of servers and tools: only these are offered, and each call is asked about.
        opt_in: whether a conversation has none until it wants them.
    """

    def __init__(
        self,
        settings: values.ToolSettings,
        offline: bool = False,
        names: tuple[str, ...] = (),
        toolbox: Toolbox | None = None,
        opt_in: bool = False,
    ) -> None:
        self.settings, self._names, self.opt_in = settings, names, opt_in
        self.is_available = toolbox is not None or bool(settings)
        """Whether there may be a tool."""
        self.toolbox = toolbox or Toolbox(settings.servers, settings.folders, offline)
        """What runs them."""
        self.approvals = Approvals(data_dir() / "approvals.json")
        """The approvals of tools that may run without confirmation."""
        self._offered: dict[str, values.OfferedTool] = {}
        self.is_listed = False
        """Whether the tools were listed yet."""
        self.enabled: dict[int | None, bool] = {}
        """The conversations that were given tools, or none."""
        self._reported: set[str] = set()  # failures of servers

    def is_enabled(self, conversation: int | None, default: bool = False) -> bool:
        """Whether a conversation has tools; `default` holds where nobody has chosen."""
        return self.is_available and self.enabled.get(conversation, default or not self.opt_in)

    async def refresh(self) -> None:
        """List the tools that there are now; servers are started for that.

        Raises:
            UsageError: one that was named is not there; the message says why.
        """
        tools = await self.toolbox.offered()
        names = {name for tool in tools for name in (tool.server, tool.tool.name)}
        for name in self._names:
            if name not in names:
                server, reports = name.split("__")[0], self.toolbox.reports()
                reasons = [report.reason for report in reports if report.name == server]
                text = " ".join([f"No tools are called {name!r}.", *filter(None, reasons)])
                raise UsageError(text)
        self._offered = {
            tool.tool.name: tool
            for tool in tools
            if not self._names or {*self._names} & {tool.server, tool.tool.name}
        }
        self.is_listed = True

    async def call(self, call: ToolCall, allowed: values.OfferedTool) -> values.ToolResult | None:
        """Run a call that was allowed; None: its tool has changed since."""
        if self.find(call.name) is None:
            return values.unknown_tool(call.name)
        if (result := await self.toolbox.call(call, allowed)) is None:
            await self.refresh()
        return result

    async def close(self) -> None:
        """Stop all servers."""
        await self.toolbox.close()

    def new_failures(self) -> list[str]:
        """Return why servers failed, each reason once."""
        reports = (report for report in self.toolbox.reports() if report.reason)
        failures = [f"Tool server {report.name}: {report.reason}" for report in reports]
        new = [text for text in failures if text not in self._reported]
        self._reported.update(new)
        return new

    def find(self, name: str) -> values.OfferedTool | None:
        """Return a tool that is offered."""
        return self._offered.get(name)

    def approved(self, tool: values.OfferedTool, conversation: int | None) -> Approval | None:
        """Return how a tool was approved; a conversation without a number has approved nothing."""
        if self._names:
            return None
        return self.approvals.approved(tool, -1 if conversation is None else conversation)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that are offered, as requests have them."""
        return tuple(tool.tool for tool in self._offered.values())
