"""Sets of tools: MCP servers that run `odd_server.py`."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from assistant.request import ToolCall
from assistant.tools.toolbox import ToolSet
from assistant.tools.values import OfferedTool, ServerSettings, ToolResult, ToolSettings

HERE = Path(__file__).parent


def odd(case: str, argument: object = "", name: str = "odd") -> ServerSettings:
    script = str(HERE / "odd_server.py")
    return ServerSettings(name, sys.executable, ("-S", script, case, str(argument)))


@asynccontextmanager
async def opened(*servers: ServerSettings) -> AsyncIterator[ToolSet]:
    tools = ToolSet(ToolSettings(servers=servers))
    try:
        await tools.refresh()
        yield tools
    finally:
        await tools.close()


async def call(
    tools: ToolSet, name: str = "odd__go", arguments: str = "{}", allowed: OfferedTool | None = None
) -> ToolResult:
    """Call a tool that is as it was allowed: as it is offered now, unless that is given."""
    if allowed is None:
        await tools.refresh()
    tool = allowed or tools.offered[name]
    result = await tools.call(ToolCall(tool.tool.name, arguments), tool)
    assert result is not None
    return result


def report(tools: ToolSet):
    return tools.reports()[-1]


def names(tools: ToolSet) -> list[str]:
    return [each.tool.name for each in report(tools).tools]
