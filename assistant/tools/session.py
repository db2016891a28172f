"""A connection to a server, through the official package. Loaded when a server is started."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

from httpx2 import HTTPError
from mcp import Client, MCPError
from mcp.client import ClientSession, Transport
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    JSONRPCResponse,
    PaginatedRequestParams,
)
from mcp_types import Tool as ListedTool
from pydantic import ValidationError

from assistant.tools.http_transport import http_streams
from assistant.tools.limits import PAGES, PROBLEM_CHARACTERS, TOOLS
from assistant.tools.listing import ToolListing, listing
from assistant.tools.results import result_of
from assistant.tools.server_errors import ErrorTail, ServerStopped
from assistant.tools.servers import ServerSettings
from assistant.tools.stdio_transport import process_streams
from assistant.tools.values import ToolResult

for _name in ("mcp", "client"):  # what the package would write onto the screen
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False


class Session:
    """A server that answers."""

    def __init__(self, session: ClientSession, listed: ToolListing) -> None:
        self._session = session
        self.listing = listed

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool by the name that the model sees.

        Raises:
            ServerStopped: the connection has ended.
        """
        params = CallToolRequestParams(name=self.listing.own_names[name], arguments=arguments)
        try:
            # The package's own method also checks results by the server's schema, and a regular
            # expression in that may take forever.
            asked = CallToolRequest(params=params)
            return result_of(await self._session.send_request(asked, CallToolResult))
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
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
    # It is told of nothing that it could ask for: no sampling, no roots, no questions to the user.
    client = Client(
        _shortened(transport), cache=None, client_info=Implementation(name="specchat", version="0")
    )
    try:
        async with client:
            has_tools = client.server_capabilities.tools
            tools, more = await _listed(client.session) if has_tools else ([], "It has no tools.")
            yield Session(client.session, listing(server, tools, more))
    except Exception as error:
        raise ServerStopped(_reason(error, server)) from error


@asynccontextmanager
async def _shortened(transport: Transport) -> AsyncIterator[Any]:
    async with transport as (read, write):
        yield _ShortLists(read), write


class _ShortLists:
    """Cuts lists of tools where they come in: the package takes seconds to check a long one."""

    def __init__(self, read: Any) -> None:
        self._read = read

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        match item := await self._read.__anext__():
            case SessionMessage(message=JSONRPCResponse(result={"tools": list(tools)})):
                del tools[TOOLS + 1 :]
        return item

    async def __aenter__(self) -> Self:
        await self._read.__aenter__()
        return self

    async def __aexit__(self, *exception: Any) -> None:
        await self._read.__aexit__(*exception)

    async def aclose(self) -> None:
        await self._read.aclose()


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
