"""One HTTP request and its response."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive, Scope, Send

from assistant.serve import connection
from assistant.serve.api_error import ApiError, shortened
from assistant.serve.completion_objects import AnswerDeltas
from assistant.service import EventStream

MAX_BODY_BYTES = 8_388_608
T = TypeVar("T")


class Exchange:
    """Record one request and its response; `receive` and `send` wrap ASGI's."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.method, self.path = shortened(scope["method"]), shortened(scope["path"])
        self.seconds = 0.0
        self.status = 0
        self.answer = AnswerDeltas()
        self.remark = ""
        """Why the request was refused, or that its client disconnected; usually empty."""
        self.events: EventStream | None = None
        """The engine's events; None before the request is passed to it."""
        self._is_over = False

    async def receive(self) -> Message:
        """Pass on a message from the client; note if it leaves before its response is complete."""
        message = await self._receive()
        if message["type"] == "http.disconnect" and not self._is_over:
            self.status, self.remark = 499, "the client left"
        return message

    async def send(self, message: Message) -> None:
        """Pass on a message to the client.

        Raises:
            TimeoutError: the client does not read it.
        """
        self.status = self.status or message.get("status", 0)
        self._is_over = message["type"] == "http.response.body" and not message.get("more_body")
        try:
            async with asyncio.timeout(connection.TIMEOUT_S):
                await self._send(message)
        except TimeoutError:
            self.status, self.remark = 499, "the client stopped reading"
            raise

    async def while_connected(self, answering: Awaitable[T]) -> T:
        """Wait for an answer; cancel it when the client disconnects.

        Raises:
            ClientDisconnect: it has disconnected.
        """
        task = asyncio.ensure_future(answering)
        leaving = asyncio.ensure_future(self._disconnected())
        try:
            await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise ClientDisconnect
        finally:
            task.cancel()
            leaving.cancel()
            await asyncio.gather(task, leaving, return_exceptions=True)
        return task.result()

    async def _disconnected(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass


async def body_of(request: Request) -> bytes:
    """Return the body of a request.

    Raises:
        ApiError: it is too large, or does not arrive in time.
        ClientDisconnect: the client has left.
    """
    body = bytearray()
    _refuse_size(int(request.headers.get("content-length", 0)))
    try:
        async with asyncio.timeout(connection.TIMEOUT_S):
            async for chunk in request.stream():
                body += chunk
                _refuse_size(len(body))
    except TimeoutError:
        raise ApiError(408, "The request did not arrive within a minute.", "timeout") from None
    return bytes(body)


def _refuse_size(size: int) -> None:
    if size > MAX_BODY_BYTES:
        raise ApiError(413, f"The body has more than {MAX_BODY_BYTES >> 20} MiB.", "too_large")
