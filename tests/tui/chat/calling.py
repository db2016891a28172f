"""A chat whose answers ask for calls, and tools in memory that note what is called."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from assistant.request import Tool, ToolCall
from assistant.talk.tool_set import ToolSet, ToolSettings
from assistant.tools.approvals import Approvals
from assistant.tools.values import OfferedTool, ServerReport, ToolResult
from tests.tui.chat.chat_driver import Chat, open_chat
from tui.chat.tools.approval_turn import ApprovalTurn
from tui.chat.tools.result_turn import ResultTurn

READ = ToolCall("disk__read", '{"path": "sky.txt"}', "call_1")
LIST = ToolCall("disk__list", "{}", "call_2")
WIPE = ToolCall("disk__wipe", '{"all": true}', "call_3")


def offered(name: str, read_only: bool = True) -> OfferedTool:
    """A tool of a server that is named before the underscores."""
    return OfferedTool(
        Tool(name, f"It is {name}.", "{}"), name.split("__")[0], read_only, f"of {name}"
    )


class Box:
    """Tools in memory. A call of `wipe` lasts until it is cancelled."""

    def __init__(self) -> None:
        self.tools = [offered("disk__read"), offered("disk__list"), offered("disk__wipe", False)]
        self.called: list[ToolCall] = []
        self.cancelled: list[ToolCall] = []
        self.result = ToolResult("blue \x1b[31m zeppelin")
        self.problem = ""
        self.closed = False

    async def offered(self) -> tuple[OfferedTool, ...]:
        return tuple(self.tools)

    async def call(self, call: ToolCall, allowed: OfferedTool) -> ToolResult | None:
        if allowed not in self.tools:
            return None
        self.called.append(call)
        if call.name == WIPE.name:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled.append(call)
                raise
        return self.result

    def reports(self) -> tuple[ServerReport, ...]:
        failed = ServerReport("net", "failed", self.problem, (), "its last words")
        disk = ServerReport("disk", "ready", "", tuple(self.tools), "")
        return (disk, failed) if self.problem else (disk,)

    def change(self) -> None:
        """Let every tool say something else of itself."""
        self.tools = [replace(tool, fingerprint=f"{tool.fingerprint}!") for tool in self.tools]

    async def close(self) -> None:
        self.closed = True


class Calling(Chat):
    """A chat with tools."""

    box: Box

    def script(self, *calls: tuple[ToolCall, ...]) -> None:
        """Have the next answers ask for these."""
        self.engine.calls = list(calls)

    async def asked(self, name: str = "") -> ApprovalTurn:
        """Wait until the user is asked about a call."""
        await self.until(lambda: [turn for turn in self.asking if name in turn.call.name])
        return self.asking[-1]

    async def over(self, records: int) -> None:
        """Wait until the path has so many messages, and nothing is under way."""
        await self.until(
            lambda: len(self.path.records) == records and not self.screen.controller.busy
        )

    @property
    def asking(self) -> list[ApprovalTurn]:
        return [turn for turn in self.screen.query(ApprovalTurn) if turn.is_attached]

    @property
    def results(self) -> list[str]:
        """The results on the screen, each in its line."""
        return [turn.line for turn in self.screen.query(ResultTurn)]

    @property
    def roles(self) -> str:
        """The first letter of the role of each message."""
        return "".join(record.role[0] for record in self.path.records)


@asynccontextmanager
async def open_calling(endless: Path, home: Path, rounds: int = 8) -> AsyncIterator[Calling]:
    """Open a chat whose tools are in memory."""
    async with open_chat(endless, max_tokens=6, n_ctx=4096) as chat:
        await chat.ready()
        chat.__class__ = Calling
        assert isinstance(chat, Calling)
        chat.box = Box()
        approvals = Approvals(home / "approvals.json")
        choice = ToolSet(ToolSettings(rounds=rounds), False, (), chat.box, approvals)
        chat.screen.talk.calls.tools = choice
        yield chat
