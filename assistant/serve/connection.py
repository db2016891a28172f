"""Connections to the endpoint: uvicorn's HTTP/1.1 with a time limit for every state."""

import asyncio
import sys
from collections.abc import Callable
from socket import socket
from typing import cast

import h11
import msgspec
from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from assistant.serve.api_error import JSON, ApiError

MAX_CONNECTIONS = 128
MAX_HEAD_BYTES = 16_384
TIMEOUT_S = 60.0  # for a request to arrive whole, and for a client to read what it is sent
IDLE_CHECK_S = 0.5  # between two checks for idle connections
STOP_TIMEOUT_S = 1.0  # for sending the last error to clients when the server stops


class Connection(H11Protocol):
    """A client's connection, with a time limit while idle, and errors as JSON."""

    connections: set["Connection"]  # type: ignore[assignment]  # uvicorn's: all are of this class

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Wait for a request; of too many connections, close the one that is idle longest."""
        super().connection_made(transport)
        self.idle_since = self.loop.time()
        if len(self.connections) > MAX_CONNECTIONS:
            idle = (connection for connection in self.connections if not connection.is_busy)
            longest = min(idle, key=lambda connection: connection.idle_since)
            self.connections.discard(longest)
            longest.transport.abort()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self.idle_since = self.loop.time()

    @property
    def is_busy(self) -> bool:
        """Whether a request is being read or answered; both have time limits of their own."""
        is_under_way = self.cycle is not None and not self.cycle.response_complete
        return is_under_way and not self.transport.is_closing()

    def send_400_response(self, msg: str) -> None:
        """Refuse what h11 could not parse. uvicorn calls this while it handles the error."""
        error = sys.exception()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            status = getattr(error, "error_status_hint", 400)
            api_error = ApiError(status, f"This is not HTTP: {error}.", "unreadable")
            body = msgspec.json.encode(api_error.body)
            fields = {**JSON, "content-length": f"{len(body)}", "connection": "close"}
            head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
            self.transport.write(f"HTTP/1.1 {status} Refused\r\n{head}\r\n".encode() + body)
        self.transport.close()


async def close_idle(connections: set[Connection]) -> None:
    """Close connections that are idle for too long; stray bytes do not reset the time."""
    while True:
        await asyncio.sleep(IDLE_CHECK_S)
        for connection in [*connections]:
            idle_s = connection.loop.time() - connection.idle_since
            if idle_s > TIMEOUT_S and not connection.is_busy:
                connection.transport.abort()


async def listen(
    app: ASGIApp, listening: socket, until: asyncio.Event, stop: Callable[[], None]
) -> None:
    """Serve an ASGI application until an event; then `stop` ends the answers under way."""
    config = Config(
        app, interface="asgi3", http=Connection, ws="none", lifespan="off", proxy_headers=False,
        log_config=None, log_level="critical", h11_max_incomplete_event_size=MAX_HEAD_BYTES,
    )  # fmt: skip
    config.load()
    state, loop = ServerState(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(config, state, {}), sock=listening)
    sweeping = loop.create_task(close_idle(cast(set[Connection], state.connections)))
    try:
        await until.wait()
    finally:
        server.close()
        sweeping.cancel()
        stop()
        if state.tasks:
            await asyncio.wait(state.tasks, timeout=STOP_TIMEOUT_S)
        for task in state.tasks:
            task.cancel()
        await asyncio.gather(*state.tasks, return_exceptions=True)
        for connection in list(state.connections):
            connection.transport.close()
