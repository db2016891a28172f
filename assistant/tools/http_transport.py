"""The connection to a server by HTTP: to its own host only, and bounded."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from assistant.tools.limits import CALL_S, MESSAGE_BYTES, START_S, STREAMS
from assistant.tools.server_errors import ServerStopped
from assistant.tools.servers import ServerSettings


@asynccontextmanager
async def http_streams(server: ServerSettings) -> AsyncIterator[Any]:
    """Connect to a server, without a proxy and without following a redirect elsewhere.

    Raises:
        ServerStopped: it breaks a limit.
    """
    client = httpx2.AsyncClient(
        transport=_Guard(server),  # which is why no proxy of the environment is used
        timeout=httpx2.Timeout(CALL_S, connect=START_S),
        headers={"accept-encoding": "identity"},
    )
    async with (
        client,
        streamable_http_client(
            server.url,
            http_client=client,
            max_sse_event_size=MESSAGE_BYTES,
            terminate_on_close=False,  # to tell it may take as long as the server likes
        ) as streams,
    ):
        yield streams


_UNNAMED = "It wants to know who asks (HTTP 401): give it a token with headers, in config.toml."
_UNKNOWN = "It does not accept the headers that it is given (HTTP 401): is the token still valid?"


class _Guard(httpx2.AsyncHTTPTransport):
    """Every request passes here, whoever wants it and whatever redirected it."""

    def __init__(self, server: ServerSettings) -> None:
        super().__init__()
        self._server = server
        self._asks = 0  # streams that were opened since something was asked

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        if not self._server.may_contact(url.host):
            raise ServerStopped(f"It leads to {url.host}, which is not allowed.")
        self._asks = self._asks + 1 if request.method == "GET" else 0
        if self._asks > STREAMS:
            raise ServerStopped("It ends its streams without end, so it was left.")
        if self._server.is_address(url.scheme, url.host, url.port):
            request.headers.update(self._server.headers)
        response = await super().handle_async_request(request)
        if response.status_code == 401:
            await response.aclose()
            raise ServerStopped(_UNKNOWN if self._server.headers else _UNNAMED)
        if "content-encoding" in response.headers:
            await response.aclose()
            raise ServerStopped("It compresses what it sends, though it was asked not to.")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream)
        return response


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > MESSAGE_BYTES:
                said = f"{MESSAGE_BYTES / 1e6:g} MB are the most"
                raise ServerStopped(f"It sent a response without end ({said}), so it was stopped.")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
