"""The tools of a program: its servers, the tools on offer, and their approvals."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from assistant.request import Tool, ToolCall
from assistant.tools import values
from assistant.tools.files import Files
from assistant.tools.server import Server
from assistant.tools.values import BUILT_IN, OfferedTool
from models.errors import StorageError, UsageError, raising
from models.files.disk import JsonFile
from models.files.places import data_dir

Approval = Literal["conversation", "always"]


class _Approved(Struct, forbid_unknown_fields=True, omit_defaults=True):
    tool: str
    fingerprint: str
    server: str = ""  # which earlier versions wrote


class _Stored(Struct, forbid_unknown_fields=True):
    always: list[_Approved] = []


class Approvals:
    """Approvals of tools: for one conversation, in memory, or for always, in a file.

    An approval holds for a tool with exactly this fingerprint: if its description, schema or
    command changes, it is another tool. The file is read at each check and changed under a lock, so
    an approval that is revoked in one window is revoked in all.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, JsonFile(path, _Stored)
        self._temporary: set[tuple[int | None, OfferedTool]] = set()

    def approval(self, tool: OfferedTool, conversation: int | None) -> Approval | None:
        """Return how a tool was approved; None if it was not."""
        if (conversation, tool) in self._temporary:
            return "conversation"
        stored = self._file.read() or _Stored()
        known = {(approved.tool, approved.fingerprint) for approved in stored.always}
        return "always" if (tool.tool.name, tool.fingerprint) in known else None

    def allow(self, tool: OfferedTool, how: Approval, conversation: int | None) -> None:
        """Approve a tool; StorageError if the file cannot be written."""
        if how == "conversation":
            self._temporary.add((conversation, tool))
        else:
            self._update(tool.tool.name, [_Approved(tool.tool.name, tool.fingerprint)])

    def revoke(self, tool: OfferedTool) -> None:
        """Revoke all approvals of a tool, whatever its fingerprint; StorageError if that fails."""
        name = tool.tool.name
        self._temporary = {entry for entry in self._temporary if entry[1].tool.name != name}
        self._update(name, [])

    def _update(self, name: str, approved: list[_Approved]) -> None:
        """Replace the stored approvals of a tool; a damaged file is set aside."""

        def changed(stored: _Stored | None) -> _Stored | None:
            before = stored.always if stored else []
            after = [*(other for other in before if other.tool != name), *approved]
            return _Stored(after) if after != before else None

        what, advice = f"{self._path} cannot be written", " Approvals stay as they were."
        with raising(StorageError, what, advice):
            self._file.set_aside()
            self._file.update(changed)


class ToolSet:
    """The built-in tools and MCP servers of a program: exactly those that the settings name.

    Servers are started on demand, for one event loop.
    """

    def __init__(
        self,
        settings: values.ToolSettings,
        offline: bool = False,  # leaves out servers on other machines
        names: tuple[str, ...] = (),  # of servers or tools: these alone; each call is asked about
        opt_in: bool = False,  # whether a conversation has none until it wants them
    ) -> None:
        self.settings, self._names, self.opt_in = settings, names, opt_in
        self.servers = _servers(settings, offline)
        """The servers, by their names; one has the built-in tools."""
        self.approvals = Approvals(data_dir() / "approvals.json")
        """The approvals of tools that may run without confirmation."""
        self.offered: dict[str, OfferedTool] = {}
        """The tools, by their names, as they were when they were listed."""
        self.is_listed = False
        """Whether the tools were listed yet."""
        self.enabled: dict[int | None, bool] = {}
        """The conversations that were given tools, or none."""

    def use(self, settings: values.ToolSettings, offline: bool) -> Coroutine[Any, Any, None]:
        """Use other settings; return what stops the servers before, which the caller runs."""
        before, self.servers = self.servers, _servers(settings, offline)
        self.settings, self.is_listed = settings, False
        return _stop(before)

    async def close(self) -> None:
        """Stop all servers."""
        await _stop(self.servers)

    def reports(self) -> tuple[values.ServerReport, ...]:
        """Return the state of each server."""
        return tuple(server.report() for server in self.servers.values())

    async def refresh(self) -> None:
        """List the tools that there are now; servers that do not run are started for that.

        One that fails has none, and `reports` says why. A `UsageError` says why one that was named
        is not there.
        """
        servers: dict[str, Files | Server] | None = None
        while servers is not self.servers:  # other settings may come meanwhile
            servers = self.servers
            lists = await asyncio.gather(*(server.list_tools() for server in servers.values()))
        tools = [tool for listed in lists for tool in listed]
        for name in self._names:
            if not any(name in (tool.server, tool.tool.name) for tool in tools):
                server = name.split("__")[0]
                reasons = [report.reason for report in self.reports() if report.name == server]
                raise UsageError(f"No tools are called {name!r}. {''.join(reasons)}".rstrip())
        self.offered = {
            tool.tool.name: tool
            for tool in tools
            if not self._names or {*self._names} & {tool.server, tool.tool.name}
        }
        self.is_listed = True

    async def call(self, call: ToolCall, allowed: OfferedTool) -> values.ToolResult | None:
        """Run a call that was allowed; an error is a failed result. None: its tool has changed."""
        if call.name not in self.offered:
            return values.unknown_tool(call.name)
        try:
            text = (call.arguments or "{}").encode("utf-8", "replace")
            arguments = msgspec.json.decode(text, type=dict[str, Any])
        except (ValueError, RecursionError):
            return values.tool_result("The arguments are not a JSON object.", failed=True)
        server = self.servers.get(allowed.server)  # other settings may have none of that name
        if server is None or (result := await server.call(allowed, arguments)) is None:
            await self.refresh()
            return None
        return result

    def approval(self, tool: OfferedTool, conversation: int | None) -> Approval | None:
        """Return how a tool was approved; None if it was not, or was named."""
        return None if self._names else self.approvals.approval(tool, conversation)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that are offered, as requests have them."""
        return tuple(tool.tool for tool in self.offered.values())


def _servers(settings: values.ToolSettings, offline: bool) -> dict[str, Files | Server]:
    away = "It is on another machine, and specchat is set to be offline."
    servers: dict[str, Files | Server] = {
        server.name: Server(server, away if offline and not server.is_here else "")
        for server in settings.servers
    }
    return ({BUILT_IN: Files(settings.folders)} if settings.folders else {}) | servers


async def _stop(servers: dict[str, Files | Server]) -> None:
    await asyncio.gather(*(server.stop() for server in servers.values()))
