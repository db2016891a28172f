"""A server of tools: its start on demand, its usable tools, their calls, and its end."""

import asyncio
import hashlib
import json
import os
import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib import import_module
from math import inf
from tempfile import TemporaryFile
from time import monotonic
from typing import TYPE_CHECKING, Any, BinaryIO

from assistant.request import Tool
from assistant.tools import values
from assistant.tools.values import FAULT, OfferedTool, ServerStopped, ToolResult, tool_result
from models.engines import install_command

if TYPE_CHECKING:  # the package takes a second to load
    from mcp_types import Tool as ListedTool

    from assistant.tools.session import Session

START_S = 60.0  # to start, or to list tools; some servers are downloaded first
RETRY_S = 60.0  # after which a server that did not start is tried again
CALL_S = 120.0  # in which a call has to return
ERROR_BYTES = 65_536  # of the end of standard error that are shown
_CALLABLE = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # OpenAI's rule for names
LISTED = 5  # tools that a report says are left out, by name
LONGEST = 20_000  # characters of a tool: some 6,000 tokens, most of the usual context


class Server:
    """A server. One task opens and closes its connection, as the MCP package demands."""

    def __init__(self, settings: values.ServerSettings, refused: str = "") -> None:
        self.settings = settings
        self._reason, self._errors = refused, ""
        self._tools: dict[OfferedTool, str] = {}  # with the server's names for them
        self._left_out = ""
        self._session: Session | None = None
        self._task: asyncio.Task[None] | None = None
        self._started = self._stopping = asyncio.Event()
        self._not_before = inf if refused else 0.0  # when it may be started, by `monotonic`
        self._calls = 0  # that are under way

    def report(self) -> values.ServerReport:
        """Return the state of the server."""
        state: values.ServerState = "off"
        if self._reason:
            state = "failed"
        elif self._session:
            state = "ready"
        elif self._task and not self._task.done():
            state = "starting"
        reason = self.settings.without_secrets(self._reason or self._left_out)
        tools = tuple(self._tools) if self._session else ()
        return values.ServerReport(self.settings.name, state, reason, tools, self._errors)

    async def list_tools(self) -> tuple[OfferedTool, ...]:
        """Start the server unless it runs; return its tools, or none if it fails."""
        was_running = self._session is not None
        if was_running and self._calls:  # it may do one thing at a time, and its end would end them
            return tuple(self._tools)
        try:
            session = await self._ready()
            if session is None:
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
            return await self.list_tools() if was_running else ()  # an idle server may have ended

    async def call(self, allowed: OfferedTool, arguments: dict[str, Any]) -> ToolResult | None:
        """Call a tool; an error is a failed result. None: the tool has changed since."""
        offered = await self.list_tools()
        name = self.settings.name
        if not self._session:
            return tool_result(f"{name} does not run. {self.report().reason}", failed=True)
        if allowed not in offered:
            return None
        self._calls += 1
        try:
            async with asyncio.timeout(CALL_S):
                result = await self._session.call(self._tools[allowed], arguments)
        except TimeoutError:
            text = f"{allowed.tool.name} did not return within {CALL_S:g} s."
            result = tool_result(text, failed=True)
        except ServerStopped as error:
            await self._fail(str(error))
            result = tool_result(f"{name} did not answer. {self._reason}", failed=True)
        finally:
            self._calls -= 1
        return replace(result, text=self.settings.without_secrets(result.text))

    async def stop(self) -> None:
        """End the server and all processes of its group; it is not started again."""
        self._not_before = inf
        await self._end()

    async def _end(self) -> None:
        if self._task and not self._task.done():
            if not self._started.is_set():
                self._task.cancel()
            self._stopping.set()
            await asyncio.wait({self._task})

    async def _fail(self, reason: str) -> None:
        await self._end()  # the task may set a better reason
        self._reason = self._reason or reason

    async def _ready(self) -> "Session | None":
        """Start the server unless it runs. Cancelling the wait does not stop the start."""
        if self._task is None or self._task.done():
            if monotonic() < self._not_before:
                return None
            self._started, self._stopping = asyncio.Event(), asyncio.Event()
            self._task = asyncio.create_task(self._run())
        await self._started.wait()
        return self._session

    async def _run(self) -> None:
        self._reason = ""
        try:
            with TemporaryFile() as errors:
                async with AsyncExitStack() as stack:
                    stack.callback(self._read_errors, errors)
                    async with asyncio.timeout(START_S):
                        # Loading the package takes a second, in which the event loop must run.
                        module = await asyncio.to_thread(import_module, "assistant.tools.session")
                        connecting = module.connect(self.settings, errors)
                        self._session = await stack.enter_async_context(connecting)
                    self._started.set()
                    await self._stopping.wait()
        except TimeoutError:
            self._reason = f"It did not start within {START_S:g} seconds."
        except ImportError as error:  # it is missing, or too old
            command = install_command("mcp>=2.3,<3")
            self._reason = f"MCP servers need a package ({error}): {command}"
        except ServerStopped as error:
            self._reason = str(error)
        except OSError as error:
            self._reason = f"There can be no temporary file for what it reports: {error.strerror}."
        except Exception as error:  # of the package, or ours
            self._reason = f"It cannot be used ({error!r})."
        finally:
            self._session = None
            if self._reason and not self._started.is_set():  # it may fail again
                self._not_before = monotonic() + RETRY_S
            self._started.set()

    def _read_errors(self, errors: BinaryIO) -> None:
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - ERROR_BYTES))
        self._errors = errors.read().decode("utf-8", "replace").replace("\0", "").strip()


def usable_tools(
    server: values.ServerSettings, listed: "Sequence[ListedTool]"
) -> tuple[dict[OfferedTool, str], str]:
    """Return the usable tools, each with the server's own name, and why others are left out."""
    tools: dict[str, tuple[OfferedTool, str]] = {}
    refused: list[str] = []  # why each tool that is left out cannot be used
    for tool in listed:
        # Servers may use dots and slashes, models may not.
        name = f"{server.name}__{re.sub('[./]', '_', tool.name)}"
        if fault := (tool.meta or {}).get(FAULT):
            refused.append(f"{tool.name[:64]!r} {fault}")
        elif not _CALLABLE.fullmatch(name):
            refused.append(f"{tool.name[:64]!r} has a name that models cannot write")
        elif name in tools:
            refused.append(f"{tool.name!r} has the name of another tool")
        elif len(tool.description or "") + len(_json(tool.input_schema)) > LONGEST:
            refused.append(f"{tool.name!r} describes itself in more than {LONGEST:,} characters")
        else:
            tools[name] = _offered_tool(server, name, tool), tool.name
    reason = "" if tools else "It has no tools."
    if refused:
        more = [f"{len(refused) - LISTED} more"] if len(refused) > LISTED else []
        reason = f"Left out: {'; '.join(refused[:LISTED] + more)}."
    return dict(tools.values()), reason


def _offered_tool(server: values.ServerSettings, name: str, listed: "ListedTool") -> OfferedTool:
    notes = listed.annotations
    identity = [listed.name, listed.title, listed.description, listed.input_schema,
            notes and notes.model_dump(mode="json")]  # fmt: skip
    fingerprint = hashlib.sha256(f"{server.identity}{_json(identity)}".encode()).hexdigest()
    description = (listed.description or listed.title or "").replace("\0", "\ufffd")
    tool = Tool(name, description, _json(listed.input_schema))
    return OfferedTool(tool, server.name, bool(notes and notes.read_only_hint), fingerprint)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
