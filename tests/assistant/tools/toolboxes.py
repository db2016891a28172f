"""Toolboxes of MCP servers that run `odd_server.py`."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from assistant.request import ToolCall
from assistant.tools.toolbox import Toolbox
from assistant.tools.values import (
    OfferedTool,
    ServerReport,
    ServerSettings,
    ToolResult,
    ToolSettings,
)

HERE = Path(__file__).parent


def odd(case: str, argument: object = "", name: str = "odd") -> ServerSettings:
    script = str(HERE / "odd_server.py")
    return ServerSettings(name, sys.executable, ("-S", script, case, str(argument)))


@asynccontextmanager
async def opened(*servers: ServerSettings) -> AsyncIterator[Toolbox]:
    tools = Toolbox(ToolSettings(servers=servers))
    try:
        await tools.offered()
        yield tools
    finally:
        await tools.close()


async def call(
    tools: Toolbox, name: str = "odd__go", arguments: str = "{}", allowed: OfferedTool | None = None
) -> ToolResult:
    """Call a tool that is as it was allowed: as it is offered now, unless that is given."""
    tool = allowed or next(tool for tool in await tools.offered() if tool.tool.name == name)
    result = await tools.call(ToolCall(name, arguments), tool)
    assert result is not None
    return result


def report(tools: Toolbox) -> ServerReport:
    return tools.reports()[-1]


def names(tools: Toolbox) -> list[str]:
    return [each.tool.name for each in report(tools).tools]
