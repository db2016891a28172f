"""Toolboxes of servers that tests run."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from assistant.request import ToolCall
from assistant.tools.servers import ServerSettings
from assistant.tools.toolbox import Tools
from assistant.tools.values import ServerReport, ToolResult

HERE = Path(__file__).parent


def hostile(case: str, argument: object = "", name: str = "bad") -> ServerSettings:
    script = str(HERE / "hostile_server.py")
    return ServerSettings(name, sys.executable, ("-S", script, case, str(argument)))


def good() -> ServerSettings:
    return ServerSettings("good", sys.executable, (str(HERE / "good_server.py"),))


@asynccontextmanager
async def opened(*servers: ServerSettings) -> AsyncIterator[Tools]:
    tools = Tools(servers)
    try:
        await tools.offered()
        yield tools
    finally:
        await tools.close()


async def call(tools: Tools, name: str = "bad__go", arguments: str = "{}") -> ToolResult:
    return await tools.call(ToolCall(name, arguments))


def report(tools: Tools) -> ServerReport:
    return tools.reports()[-1]


def names(tools: Tools) -> list[str]:
    return [each.tool.name for each in report(tools).tools]
