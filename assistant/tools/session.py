"""A connection to a server, through the official package. Loaded when a server is started."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from httpx2 import HTTPError
from mcp import Client, MCPError
from mcp.client import ClientSession, Transport
from mcp_types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ErrorData,
    Implementation,
    PaginatedRequestParams,
)
from mcp_types import Tool as ListedTool
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from assistant.tools.http_transport import http_streams
from assistant.tools.incoming import watched
from assistant.tools.limits import PAGES, PROBLEM_CHARACTERS, TOOLS
from assistant.tools.listing import ToolListing, listing
from assistant.tools.results import result_of
from assistant.tools.server_errors import ErrorTail, ServerStopped
from assistant.tools.servers import ServerSettings
from assistant.tools.stdio_transport import process_streams
from assistant.tools.values import ToolResult

_CLOSED = ErrorData(code=CONNECTION_CLOSED, message="Connection closed")
"""What the package says then; servers use that number for errors of their own."""
for _name in ("mcp", "client"):  # what the package would write onto the screen
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False


class Session:
    """A server that answers."""

    def __init__(
        self, server: ServerSettings, session: ClientSession, changed: asyncio.Event
    ) -> None:
        self._server, self._session, self._changed = server, session, changed
        self.listing = ToolListing((), {}, "It has no tools.")

    def is_stale(self, anew: bool) -> bool:
        """Whether the server has said that its tools have changed.

        A server of a protocol by which it says so only to who subscribed may always have other
        ones: with `anew`, its tools count as changed.
        """
        silent = self._session.protocol_version in MODERN_PROTOCOL_VERSIONS
        return self._changed.is_set() or (anew and silent)

    async def list_tools(self) -> str:
        """Learn its tools; return why it does not list them, if it refuses.

        What it says of changes meanwhile counts the next time.

        Raises:
            ServerStopped: the connection has ended.
        """
        capabilities = self._session.server_capabilities
        if not capabilities or not capabilities.tools:
            return ""
        self._changed.clear()
        try:
            self.listing = listing(self._server, *await _listed(self._session))
        except MCPError as error:
            if error.error == _CLOSED:
                raise ServerStopped(_short(error.message)) from error
            return f"It refused to list its tools: {_short(error.message)}"
        except (ValidationError, RecursionError) as error:
            return _reason(error, self._server)
        return ""

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool by the name that the model sees.

        Raises:
            ServerStopped: the connection has ended.
        """
        own = self.listing.own_names.get(name)
        if own is None:  # it was there a moment ago
            return ToolResult(f"There is no tool named {name} any more.", failed=True)
        params = CallToolRequestParams(name=own, arguments=arguments)
        try:
            # The package's own method also checks results by the server's schema, and a regular
            # expression in that may take forever.
            asked = CallToolRequest(params=params)
            return result_of(await self._session.send_request(asked, CallToolResult))
        except MCPError as error:
            if error.error == _CLOSED:
                raise ServerStopped(_short(error.message)) from error
            return ToolResult(f"The server refused: {_short(error.message)}", failed=True)
        except (ValidationError, RecursionError):
            said = "What the server returned is not a result: it breaks the protocol, or asks back."
            return ToolResult(said, failed=True)


@asynccontextmanager
async def connected(server: ServerSettings, errors: ErrorTail) -> AsyncIterator[Session]:
    """Start or contact a server. What is within is cancelled when the connection ends.

    Raises:
        ServerStopped: it does not start, ended, or broke the protocol or a limit.
    """
    transport: Transport = http_streams(server) if server.url else process_streams(server, errors)
    changed = asyncio.Event()
    # It is told of nothing that it could ask for: no sampling, no roots, no questions to the user.
    client = Client(
        watched(transport, changed),
        cache=None,
        client_info=Implementation(name="specchat", version="0"),
    )
    try:
        async with client:
            session = Session(server, client.session, changed)
            if why := await session.list_tools():
                raise ServerStopped(why)
            yield session
    except Exception as error:
        raise ServerStopped(_reason(error, server)) from error


async def _listed(session: ClientSession) -> tuple[list[ListedTool], str]:
    tools: list[ListedTool] = []
    cursor = None
    for _ in range(PAGES):
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        tools += page.tools[: TOOLS + 1 - len(tools)]
        cursor = page.next_cursor
        if not cursor or len(tools) > TOOLS:
            break
    more = f"It lists more than {TOOLS} tools; the others are left out." if tools[TOOLS:] else ""
    if cursor and not more:
        more = f"Its list has more than {PAGES} pages; the others are left out."
    return tools[:TOOLS], more


def _reason(error: BaseException, server: ServerSettings) -> str:
    leaves = _leaves(error)
    stopped = [each for each in leaves if isinstance(each, ServerStopped)]
    match (stopped or leaves)[0]:
        case ServerStopped() as found:
            return str(found)
        case MCPError(message=message):
            return f"It refused to start: {_short(message)}"
        case HTTPError() as found:
            return f"Nothing usable answers at {server.url} ({_short(str(found))})."
        case OSError() as found:
            return f"It cannot be started: {found.strerror or found}."
        case found:
            return f"It breaks the protocol ({type(found).__name__})."


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for each in error.exceptions for leaf in _leaves(each)]
    return [error]


def _short(text: str) -> str:
    return text[:PROBLEM_CHARACTERS].replace("\0", "\ufffd")
