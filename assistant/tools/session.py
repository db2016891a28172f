"""A connection to a server, made with the official package, which takes a second to import."""

import json
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, BinaryIO, cast
from uuid import uuid4

import anyio
import httpx2
import mcp_types as types
import psutil
from anyio.streams.text import TextReceiveStream
from mcp import Client, MCPError
from mcp.client import client, stdio
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from assistant.streamed_text import without_lone_surrogates
from assistant.tools.values import FAULT, ServerSettings, ServerStopped, ToolResult, tool_result

LONGEST_MESSAGE = 2_000_000  # characters: parsing a longer one would block the event loop
MOST_TOOLS = 1_000
_READ = "name", "title", "description", "inputSchema", "annotations"  # of a tool
MARK = "SPECCHAT_SERVER"  # the variable by which a server's processes are found at its end
END_S = 2.0  # in which they have to end by themselves
INHERITED = ("LANG", "LC_ALL", "TMPDIR")  # in addition to the package's; others may be secret
# The package's error for a closed connection; servers use the same code for their own errors.
_CLOSED = types.ErrorData(code=types.CONNECTION_CLOSED, message="Connection closed")
_TOO_LONG = f"it sent a message of more than {LONGEST_MESSAGE // 1_000_000} MB"
for _name in ("mcp", "client"):  # or the package would log to the screen
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False


class Session:
    """An open connection to a server. The caller limits how long it waits."""

    def __init__(self, server: ServerSettings, client: Client) -> None:
        self._server, self._client = server, client

    async def list_tools(self) -> list[types.Tool]:
        """Return all tools of the server; ServerStopped if it does not list them."""
        tools: list[types.Tool] = []
        cursor = None
        try:
            while self._client.server_capabilities.tools:
                page = await self._client.list_tools(cursor=cursor)
                tools += page.tools
                if len(tools) > MOST_TOOLS:
                    raise ServerStopped(f"It lists more than {MOST_TOOLS:,} tools.")
                if not (cursor := page.next_cursor):
                    break
        except Exception as error:  # the package raises many kinds
            raise ServerStopped(failure_reason(error, self._server)) from error
        return tools

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool; ServerStopped if the connection has ended, or the result is invalid."""
        parameters = types.CallToolRequestParams(name=name, arguments=arguments)
        request = types.CallToolRequest(params=parameters)
        try:
            # The package's `call_tool` would also check results against the server's schema.
            returned = await self._client.session.send_request(request, types.CallToolResult)
        except Exception as error:
            if isinstance(error, MCPError) and error.error != _CLOSED:
                return tool_result(f"The server refused: {error.message}", failed=True)
            raise ServerStopped(failure_reason(error, self._server)) from error
        text = "\n".join(map(_content_text, returned.content))
        if not text and returned.structured_content is not None:
            text = json.dumps(returned.structured_content, ensure_ascii=False)
        return tool_result(text, failed=returned.is_error)


class _BoundedText(TextReceiveStream):
    """The output of a server, which breaks at a line that is too long."""

    length = 0  # of the line under way

    async def receive(self) -> str:
        text = await super().receive()
        _, newline, rest = text.rpartition("\n")
        self.length = len(rest) + (0 if newline else self.length)
        if self.length > LONGEST_MESSAGE:
            await self.aclose()  # or the package would read on to its end
            raise anyio.BrokenResourceError
        return text


stdio.TextReceiveStream = _BoundedText  # type: ignore[attr-defined]  # the package has no limit
_parse = types.jsonrpc_message_adapter.validate_json
types.jsonrpc_message_adapter.validate_json = (  # type: ignore[method-assign]  # half characters
    lambda data, **options: _parse(without_lone_surrogates(data), **options)
)


class _BoundedBytes(httpx2.AsyncByteStream):
    """The body of a response, which breaks at an event, or a whole body, that is too long."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        length = 0
        async for data in self._stream:
            _, blank_line, rest = data.rpartition(b"\n\n")
            length = len(rest) + (0 if blank_line else length)
            if length > LONGEST_MESSAGE:
                raise httpx2.ReadError(_TOO_LONG)
            yield data


class _Everything(frozenset[str]):
    def __contains__(self, name: object) -> bool:
        return True


class _Dispatcher(JSONRPCDispatcher[Any]):
    """Marks the tools that break the protocol, for which the package would refuse all of them."""

    async def run(self, *args: Any, **options: Any) -> None:
        await super().run(*args, **options)
        raise MCPError(_CLOSED.code, _CLOSED.message)  # or an idle server would die unnoticed

    async def send_raw_request(self, method: str, *args: Any, **options: Any) -> dict[str, Any]:
        result = await super().send_raw_request(method, *args, **options)
        if method == "tools/list" and isinstance(tools := result.get("tools"), list):
            result["tools"] = [*map(_read_tool, tools)]
        return result


def _read_tool(tool: Any) -> dict[str, Any]:
    """Return what is read of a tool; of one that breaks the protocol, its name and its fault."""
    known = {key: tool[key] for key in _READ if key in tool} if isinstance(tool, dict) else {}
    try:
        validate_server_result("tools/list", LATEST_HANDSHAKE_VERSION, {"tools": [known]})
    except ValidationError as error:
        fault = {FAULT: _violation_of(error, len(("tools", 0)))}
        return {"name": str(known.get("name")), "inputSchema": {"type": "object"}, "_meta": fault}
    return known


def _violation_of(error: ValidationError, above: int = 0) -> str:
    """Return how a result breaks the protocol, with the path below so many levels."""
    first = error.errors()[0]
    return f"broke the protocol ({'.'.join(map(str, first['loc'][above:]))}: {first['msg']})"


# A server's requests are answered one after another: each would be a task in the event loop.
client.JSONRPCDispatcher = partial(  # type: ignore[attr-defined, assignment]  # it has no limit
    _Dispatcher, inline_methods=_Everything()
)


def end_marked(mark: str) -> None:
    """End the processes that carry a server's mark, also those that left its process group."""
    for end in (psutil.Process.terminate, psutil.Process.kill):
        processes = psutil.process_iter(["environ"])
        marked = [p for p in processes if (p.info["environ"] or {}).get(MARK) == mark]
        for process in marked:
            with suppress(psutil.NoSuchProcess):
                end(process)
        psutil.wait_procs(marked, END_S)


@asynccontextmanager
async def connect(server: ServerSettings, errors: BinaryIO) -> AsyncIterator[Session]:
    """Start or contact a server; its standard error goes to a file. ServerStopped if that fails."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    mark = uuid4().hex
    process = StdioServerParameters(
        command=server.command, args=[*server.args], cwd=server.cwd or None,
        env=inherited | dict(server.env) | {MARK: mark}, encoding_error_handler="replace",
    )  # fmt: skip
    timeout = httpx2.Timeout(30.0, read=300.0)  # as the package has it
    hooks: dict[str, Any] = {"request": [partial(_add_headers, server)], "response": [_on_response]}
    http = httpx2.AsyncClient(trust_env=False, timeout=timeout, event_hooks=hooks)
    transport = (
        # Ending the session would wait for the server.
        streamable_http_client(server.url, http_client=http, terminate_on_close=False)
        if server.url
        else stdio_client(process, cast(Any, errors))
    )
    # No capabilities are offered: a server can request no answers, folders or input.
    client_info = types.Implementation(name="specchat", version="0")
    try:
        async with http, Client(transport, cache=None, client_info=client_info) as client:
            yield Session(server, client)
    except Exception as error:
        raise ServerStopped(failure_reason(error, server)) from error
    finally:
        if server.command:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(end_marked, mark)


async def _add_headers(server: ServerSettings, request: httpx2.Request) -> None:
    """Add a server's headers to a request to its scheme, host and port, and to no other."""
    ours, theirs = httpx2.URL(server.url), request.url
    if (theirs.scheme, theirs.host, theirs.port) == (ours.scheme, ours.host, ours.port):
        request.headers.update(server.headers)


async def _on_response(response: httpx2.Response) -> None:
    if response.status_code == 401:
        raise ServerStopped("It refused access (HTTP 401). Check its headers in config.toml.")
    response.stream = _BoundedBytes(cast(httpx2.AsyncByteStream, response.stream))


def failure_reason(error: BaseException, server: ServerSettings) -> str:
    """Return why a server cannot be used, as a sentence."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case ServerStopped():
            return str(error)
        case MCPError() if error.error == _CLOSED:
            return f"It ended, closed its output, or {_TOO_LONG.removeprefix('it ')}."
        case MCPError(message=message):
            return f"It refused: {message}"
        case httpx2.HTTPError():
            return f"Nothing usable answers at {server.url} ({error})."
        case FileNotFoundError(filename=name):
            return f"There is no {name}. Install it, or correct command or cwd in config.toml."
        case ValidationError():
            return f"It {_violation_of(error)}."
        case OSError() | ValueError() | RuntimeError():
            return f"It cannot be started ({error})."
    return f"It broke the protocol ({type(error).__name__})."


def _content_text(block: types.ContentBlock) -> str:
    match block:
        case (
            types.TextContent(text=text)
            | types.EmbeddedResource(resource=types.TextResourceContents(text=text))
        ):
            return text
        case types.ResourceLink(uri=uri):
            return f"[resource {uri}]"
    return f"[{block.type}, left out]"
