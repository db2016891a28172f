"""One HTTP request and its answer, as they pass, and the job of the engine in between."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive, Send

from assistant.events import Event, Finished
from assistant.request import AnyJob
from assistant.serve import connection
from assistant.serve.refusal import Refusal
from assistant.service import Service

MAX_BODY_BYTES = 8_388_608
T = TypeVar("T")


class EngineJob:
    """Something that was given to the engine, whose events can be waited for."""

    def __init__(self, service: Service, job: AnyJob) -> None:
        self._loop, self._events = asyncio.get_running_loop(), asyncio.Queue[Event | None]()
        self.cancel = service.submit(job, self._hear).cancel
        """Say that nobody waits for it any more; one that is over is none the worse for it."""

    async def events(self) -> AsyncIterator[Event]:
        """Yield what the engine says about it, its end last."""
        while (event := await self._events.get()) is not None:
            yield event

    def _hear(self, event: Any) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)


class Exchange:
    """Watch what passes; `receive` and `send` are ASGI's."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.status = 0
        self.answers: tuple[Finished, ...] = ()
        self.remark = ""
        """Why it was refused, or that its client left."""
        self.job: EngineJob | None = None
        """What was asked of the engine."""
        self._is_over = False

    async def receive(self) -> Message:
        """Pass on what the client sends, and note that it leaves before it has its answer."""
        message = await self._receive()
        if message["type"] == "http.disconnect" and not self._is_over:
            self.status, self.remark = 499, "the client left"
        return message

    async def send(self, message: Message) -> None:
        """Pass on what the client is sent.

        Raises:
            TimeoutError: it does not take it.
        """
        self.status = self.status or message.get("status", 0)
        self._is_over = message["type"] == "http.response.body" and not message.get("more_body")
        try:
            async with asyncio.timeout(connection.PATIENCE_S):
                await self._send(message)
        except TimeoutError:
            self.status, self.remark = 499, "the client stopped reading"
            raise

    async def while_there(self, answering: Awaitable[T]) -> T:
        """Wait for an answer; it is cancelled when the client leaves.

        Raises:
            ClientDisconnect: the client has left.
        """
        task, leaving = asyncio.ensure_future(answering), asyncio.ensure_future(self._leaving())
        try:
            await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise ClientDisconnect
        finally:
            for each in (task, leaving):
                each.cancel()
            await asyncio.gather(task, leaving, return_exceptions=True)
        return task.result()

    async def _leaving(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass


async def body_of(request: Request) -> bytes:
    """Return the body of a request.

    Raises:
        Refusal: it is too large, or does not come.
        ClientDisconnect: the client has left.
    """
    body = bytearray()
    _refuse_size(int(request.headers.get("content-length", 0)))
    try:
        async with asyncio.timeout(connection.PATIENCE_S):
            async for chunk in request.stream():
                body += chunk
                _refuse_size(len(body))
    except TimeoutError:
        raise Refusal(408, "The request did not arrive within a minute.", "timeout") from None
    return bytes(body)


def _refuse_size(size: int) -> None:
    if size > MAX_BODY_BYTES:
        raise Refusal(413, f"The body has more than {MAX_BODY_BYTES >> 20} MiB.", "too_large")
