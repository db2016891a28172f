"""The life cycle of a server: started on demand, reported if it fails, stopped at the end."""

import asyncio
import os
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib import import_module
from math import inf
from tempfile import TemporaryFile
from time import monotonic
from typing import TYPE_CHECKING, Any

from assistant.tools.listing import usable_tools
from assistant.tools.servers import ServerSettings
from assistant.tools.values import (
    OfferedTool,
    ServerReport,
    ServerState,
    ServerStopped,
    ToolResult,
    tool_result,
)

if TYPE_CHECKING:
    from assistant.tools.session import Session

START_S = 60.0  # to start, or to list tools; some servers are downloaded first
RETRY_S = 60.0  # after which a server that did not start is tried again
CALL_S = 120.0  # in which a call has to return
ERROR_BYTES = 65_536  # shown of the end of standard error


class Server:
    """One server. Its connection lives in one task, because that task has to close it, too."""

    def __init__(self, settings: ServerSettings, refused: str = "") -> None:
        self.settings = settings
        self._state: ServerState = "failed" if refused else "off"
        self._problem, self._errors = refused, ""
        self._tools: dict[OfferedTool, str] = {}  # with the server's names for them
        self._left_out = ""
        self._session: Session | None = None
        self._life: asyncio.Task[None] | None = None
        self._started = self._stopping = asyncio.Event()
        self._not_before = inf if refused else 0.0

    def report(self) -> ServerReport:
        """Return the state of the server."""
        problem = self.settings.without_secrets(self._problem or self._left_out)
        tools = tuple(self._tools) if self._session else ()
        return ServerReport(self.settings.name, self._state, problem, tools, self._errors)

    async def offered(self) -> tuple[OfferedTool, ...]:
        """Start the server unless it runs; return its tools, or none if it fails."""
        ran = self._session is not None
        try:
            if not (session := await self._ready()):
                return ()
            async with asyncio.timeout(START_S):
                listed = await session.list_tools()
            self._tools, self._left_out = usable_tools(self.settings, listed)
            return tuple(self._tools)
        except TimeoutError:
            await self._fail(f"It did not list its tools within {START_S:g} s, so it was stopped.")
            return ()
        except ServerStopped as error:
            await self._fail(str(error))
            return await self.offered() if ran else ()  # an idle server may have ended

    async def call(self, allowed: OfferedTool, arguments: dict[str, Any]) -> ToolResult | None:
        """Call a tool; an error is a failed result. None: the tool has changed since."""
        offered = await self.offered()
        if not self._session:
            said = f"{self.settings.name} does not run. {self.report().problem}"
            return tool_result(said, failed=True)
        if allowed not in offered:
            return None
        try:
            async with asyncio.timeout(CALL_S):
                result = await self._session.call(self._tools[allowed], arguments)
        except TimeoutError:
            said = f"{allowed.tool.name} did not return within {CALL_S:g} s."
            result = tool_result(said, failed=True)
        except ServerStopped as error:
            await self._fail(str(error))
            said = f"{self.settings.name} did not answer. {self._problem}"
            result = tool_result(said, failed=True)
        return replace(result, text=self.settings.without_secrets(result.text))

    async def stop(self) -> None:
        """End the server and all processes of its group."""
        if self._life and not self._life.done():
            if not self._started.is_set():
                self._life.cancel()
            self._stopping.set()
            await asyncio.wait({self._life})

    async def _fail(self, problem: str) -> None:
        await self.stop()  # the task may find a better reason
        self._state, self._problem = "failed", self._problem or problem

    async def _ready(self) -> "Session | None":
        """Start the server unless it runs. Cancelling the wait does not stop the start."""
        if self._life is None or self._life.done():
            if monotonic() < self._not_before:
                return None
            self._started, self._stopping = asyncio.Event(), asyncio.Event()
            self._life = asyncio.create_task(self._run(self._started, self._stopping))
        await self._started.wait()
        return self._session

    async def _run(self, started: asyncio.Event, stopping: asyncio.Event) -> None:
        self._state, self._problem = "starting", ""
        with TemporaryFile() as errors:
            try:
                async with AsyncExitStack() as stack:
                    async with asyncio.timeout(START_S):
                        # Loading the package takes a second: the screen must not stand still.
                        module = await asyncio.to_thread(import_module, "assistant.tools.session")
                        connecting = module.connected(self.settings, errors)
                        self._session = await stack.enter_async_context(connecting)
                    self._state = "ready"
                    started.set()
                    await stopping.wait()
                self._state = "off"
            except asyncio.CancelledError:
                self._state = "off"
            except TimeoutError:
                self._problem = f"It did not start within {START_S:g} seconds."
            except ImportError as error:  # it is missing, or too old
                command = f'{sys.executable} -m pip install "mcp>=2.3,<3"'
                self._problem = f"MCP servers need a package ({error}): {command}"
            except ServerStopped as error:
                self._problem = str(error)
            finally:
                errors.seek(max(0, errors.seek(0, os.SEEK_END) - ERROR_BYTES))
                self._errors = errors.read().decode("utf-8", "replace").replace("\0", "").strip()
                self._session = None
                if self._problem:
                    self._state = "failed"
                if not started.is_set():  # it may not start the next time either
                    self._not_before = monotonic() + RETRY_S * bool(self._problem)
                started.set()
