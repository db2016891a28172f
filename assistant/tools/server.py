"""A server's life: started when it is needed, reported when it fails, ended with specchat."""

import asyncio
import sys
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from assistant.tools.limits import CALL_S, RETRY_S, START_S, STOP_S
from assistant.tools.server_errors import ErrorTail, ServerStopped
from assistant.tools.servers import ServerSettings
from assistant.tools.values import OfferedTool, ServerReport, ServerState, ToolResult

if TYPE_CHECKING:
    from assistant.tools.session import Session

ENDING_S = 5 * STOP_S
Returned = TypeVar("Returned")


class Server:
    """One server, in a task of its own, because its connection must be left where it was made."""

    def __init__(self, settings: ServerSettings, refused: str = "") -> None:
        self.settings = settings
        self.tools: tuple[OfferedTool, ...] = ()
        self._state: ServerState = "failed" if refused else "off"
        self._problem = self._refused = refused
        self._errors = ErrorTail()
        self._task: asyncio.Task[None] | None = None
        self._settled = self._stopping = asyncio.Event()
        self._session: Session | None = None
        self._not_before = 0.0
        self._listing = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()

    def report(self) -> ServerReport:
        """Return how it is."""
        name, errors = self.settings.name, str(self._errors)
        problem = self.settings.without_secrets(self._problem)
        return ServerReport(name, self._state, problem, self.tools, errors)

    async def ready(self) -> bool:
        """Start it unless it runs; say whether it does. Cancelling leaves it starting."""
        if self._refused:
            return False
        if self._task is None or self._task.done():
            if monotonic() < self._not_before:
                return False
            self._settled, self._stopping = asyncio.Event(), asyncio.Event()
            self._task = asyncio.create_task(self._live(self._settled, self._stopping))
        await self._settled.wait()
        return self._session is not None

    async def learn(self, anew: bool = False) -> bool:
        """Start it unless it runs, and list its tools again if they changed; say whether it runs.

        With `anew` they are listed also where a server cannot say by itself that they changed.
        """
        async with self._listing:
            if not await self.ready() or not self._session or not self._session.is_stale(anew):
                return self._session is not None
            session = self._session
            why = await self._within(session.list_tools(), START_S, "It did not list its tools")
            if not why and self._session is session:
                self.tools, self._problem = session.listing.tools, session.listing.problem
            elif why and self._state != "failed":
                await self.stop()
                self._state, self._problem = "failed", why
            return self._session is not None

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool by the name that the model sees; what goes wrong is a result."""
        result: ToolResult | str = f"{self.settings.name} does not run. {self._problem}"
        if self._session:
            work = self._session.call(name, arguments)
            result = await self._within(work, CALL_S, f"{name} did not return")
        if isinstance(result, str):
            result = ToolResult(result, failed=True)
        return replace(result, text=self.settings.without_secrets(result.text))

    async def stop(self) -> None:
        """End it and all that it started."""
        if self._task and not self._task.done():
            if not self._settled.is_set():
                self._task.cancel()
            self._stopping.set()
            await asyncio.wait({self._task})

    async def _live(self, settled: asyncio.Event, stopping: asyncio.Event) -> None:
        self._state, self._problem = "starting", ""
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(START_S):
                    # Loading the package takes a second, in which the screen must not stand still.
                    module = await asyncio.to_thread(import_module, "assistant.tools.session")
                    connected = module.connected(self.settings, self._errors)
                    session: Session = await stack.enter_async_context(connected)
                self._session, self.tools = session, session.listing.tools
                self._state, self._problem = "ready", session.listing.problem
                settled.set()
                await stopping.wait()
            self._state = "off"
        except asyncio.CancelledError:
            self._state = "off"
        except TimeoutError:
            self._fail(f"It did not start within {START_S:g} seconds.", settled)
        except ImportError as error:  # it is missing, or too old
            command = f'{sys.executable} -m pip install "mcp>=2.3,<3"'
            self._fail(f"MCP servers need a package ({error}): {command}", settled)
        except ServerStopped as error:
            self._fail(str(error), settled)
        finally:
            self._session, self.tools = None, ()
            settled.set()

    def _fail(self, problem: str, settled: asyncio.Event) -> None:
        self._state, self._problem = "failed", problem
        if not settled.is_set():  # it may not start the next time either
            self._not_before = monotonic() + RETRY_S

    async def _within(
        self, work: Coroutine[Any, Any, Returned], seconds: float, otherwise: str
    ) -> Returned | str:
        """Return what a session returns, or why it does not; if it takes too long, end it."""
        # Not awaited when it is cancelled: telling the server may take as long as the server likes.
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end_task)
        try:
            await asyncio.wait({task}, timeout=seconds)
            if task.done():
                return task.result()
            await self.stop()
            self._problem = f"{otherwise} within {seconds:g} s, so it was stopped."
            return self._problem
        except ServerStopped as error:
            assert self._task
            await asyncio.wait({self._task}, timeout=ENDING_S)  # after which it knows the reason
            return f"{self.settings.name} did not answer. {self._problem or error}"
        finally:
            task.cancel()

    def _end_task(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # it was told, or nobody waits for it
