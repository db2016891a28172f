"""Connections to the endpoint: uvicorn's HTTP/1.1, with an end to everybody's patience."""

import asyncio
import sys
from socket import socket

import h11
import msgspec
from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from assistant.serve.refusal import JSON, Refusal

MAX_CONNECTIONS = 128
MAX_HEAD_BYTES = 16_384
PATIENCE_S = 60.0  # for a request to arrive whole, and for a client to take what it is sent


class Connection(H11Protocol):
    """One client. A silent one is not waited for; anything but HTTP is refused as JSON."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Wait for a request, unless there are too many who do."""
        super().connection_made(transport)
        self._patience: asyncio.TimerHandle | None = None
        if len(self.connections) > MAX_CONNECTIONS:
            transport.close()
        else:
            self._wait()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        super().connection_lost(exc)
        self._end_wait()

    def send_400_response(self, msg: str) -> None:
        """Refuse what h11 could not read; it is called while its error is handled."""
        error = sys.exception()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            status = getattr(error, "error_status_hint", 400)
            refusal = Refusal(status, f"This is not HTTP: {error}.", "unreadable")
            body = msgspec.json.encode(refusal.body)
            headers = {**JSON, "content-length": str(len(body)), "connection": "close"}
            for event in (
                h11.Response(status_code=status, headers=[*headers.items()]),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _wait(self) -> None:
        self._end_wait()
        self._patience = self.loop.call_later(PATIENCE_S, self._leave_the_idle)

    def _end_wait(self) -> None:
        if self._patience is not None:
            self._patience.cancel()

    def _leave_the_idle(self) -> None:
        if self.conn.their_state is h11.IDLE:  # not even the head of a request has come whole
            self.transport.close()


async def listen(app: ASGIApp, listening: socket, until: asyncio.Event) -> None:
    """Serve an ASGI application until told to stop; answers under way are stopped then."""
    config = Config(
        app,
        interface="asgi3",
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        proxy_headers=False,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
    )
    config.load()
    state, loop = ServerState(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(config, state, {}), sock=listening)
    try:
        await until.wait()
    finally:
        server.close()
        for task in state.tasks:
            task.cancel()
        await asyncio.gather(*state.tasks, return_exceptions=True)
        for connection in list(state.connections):
            connection.transport.close()
