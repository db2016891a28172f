"""One HTTP request and its response, made of the engine's events."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import suppress
from typing import NamedTuple, TypeVar

import msgspec
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive, Scope, Send

from assistant.events import Decoded, Event, Finished, Loading, Prefilled, Prepared
from assistant.serve import connection
from assistant.serve.api_error import ApiError, api_error_of, shorten
from assistant.serve.completion_objects import AnswerDeltas, Completion, Object

MAX_BODY_BYTES = 8_388_608
DISCARD_S = 0.5  # without more of a body that is too large


class Waiting(NamedTuple):
    """A request waits: for others, or for the next event of its answer."""

    before: int  # how many other requests


Events = AsyncIterator[Event | Waiting]
T = TypeVar("T")


class Exchange:
    """Record one request and its response; `receive` and `send` wrap ASGI's."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        headers = Headers(raw=scope.get("headers", []))
        names = (headers.get(name) for name in ("user-agent", "authorization", "x-session-id"))
        self.client = (scope.get("client") or ("",))[0], *names  # as far as headers name it
        self.method, self.path = shorten(scope["method"]), shorten(scope["path"])
        self.seconds = 0.0
        self.status = 0
        self.answer = AnswerDeltas()
        self.gap: object = None  # that the answer fills
        self.remark = ""  # why the request was refused, or that its client disconnected
        self._is_over = False

    async def receive(self) -> Message:
        """Pass on a message from the client; note if it leaves before its response is complete."""
        message = await self._receive()
        if message["type"] == "http.disconnect" and not self._is_over:
            self.status, self.remark = 499, "the client left"
        return message

    async def send(self, message: Message) -> None:
        """Pass on a message to the client; TimeoutError if it does not read it."""
        self.status = self.status or message.get("status", 0)
        self._is_over = message["type"] == "http.response.body" and not message.get("more_body")
        try:
            async with asyncio.timeout(connection.TIMEOUT_S):
                await self._send(message)
        except TimeoutError:
            self.status, self.remark = 499, "the client stopped reading"
            raise

    async def while_connected(self, answering: Awaitable[T]) -> T:
        """Wait for an answer; cancel it and raise ClientDisconnect when the client disconnects."""
        task = asyncio.ensure_future(answering)
        leaving = asyncio.ensure_future(self._wait_for_disconnect())
        try:
            await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise ClientDisconnect
        finally:
            task.cancel()
            leaving.cancel()
            await asyncio.gather(task, leaving, return_exceptions=True)
        return task.result()

    async def _wait_for_disconnect(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass


async def body_of(request: Request) -> bytes:
    """Return the body without a BOM; ApiError if it is too large, or does not arrive in time."""
    body, chunks = bytearray(), request.stream()
    is_large = int(request.headers.get("content-length", 0)) > MAX_BODY_BYTES
    try:
        async with asyncio.timeout(connection.TIMEOUT_S):
            while not is_large and (chunk := await anext(chunks, b"")):
                body += chunk
                is_large = len(body) > MAX_BODY_BYTES
            if is_large:
                await _discard(request, chunks)
                why = f"The body has more than {MAX_BODY_BYTES >> 20} MiB."
                raise ApiError(413, why, "too_large", headers={"connection": "close"})
    except TimeoutError:
        raise ApiError(408, "The request did not arrive within a minute.", "timeout") from None
    return bytes(body).removeprefix(b"\xef\xbb\xbf")


async def _discard(request: Request, chunks: AsyncIterator[bytes]) -> None:
    """Read the rest of a body: a connection closed before is reset, and its response lost."""
    with suppress(TimeoutError):
        while "expect" not in request.headers:  # with it, the client waits before it sends
            async with asyncio.timeout(DISCARD_S):
                if not await anext(chunks, b""):
                    return


async def as_object(events: Events, reply: Completion, exchange: Exchange) -> Object:
    """Return the answer as one object; ApiError if there is none."""
    answer = exchange.answer
    async for event in events:
        if isinstance(event, Decoded | Finished):
            answer.add(event)
    assert answer.end is not None
    return reply.whole(answer, answer.end)


async def as_stream(events: Events, reply: Completion, exchange: Exchange) -> AsyncIterator[bytes]:
    """Yield the answer as server-sent events; comments say why there is none yet.

    ApiError if there is no answer. An error after the first event is sent within the stream.
    """
    has_begun, answer = False, exchange.answer
    try:
        async for event in events:
            for sent in _sse(event, reply, answer):
                has_begun = True
                yield sent
    # The status has been sent already; the client should learn why the stream ends.
    except Exception as error:
        if not has_begun:
            raise
        api_error = api_error_of(error)
        exchange.status, exchange.remark = api_error.status, str(api_error)
        yield _data(reply.failed(api_error))
    yield reply.DONE


def _sse(event: Event | Waiting, reply: Completion, answer: AnswerDeltas) -> Iterator[bytes]:
    match event:
        case Waiting(before):
            yield _comment(f"waiting, {before} before you" if before else "waiting")
        case Loading(name=name):
            yield _comment(f"loading {shorten(name)}")
        case Prefilled(role="target", done=done, total=total):
            yield _comment(f"reading {done:,} of {total:,}")
        case Prepared():
            yield from map(_data, reply.begin())
        case Decoded() if event.tokens or event.tool_calls:
            yield from map(_data, reply.more(answer.add(event), event.tokens))
        case Finished():
            yield from map(_data, reply.more(answer.add(event)))
            yield from map(_data, reply.finish(answer, event))


def _comment(text: str) -> bytes:
    """Return a line that clients skip; a name of a file has no line break in it."""
    return f": {' '.join(text.split())}\n\n".encode(errors="replace")


def _data(value: Object) -> bytes:
    name = f"event: {value['type']}\n" if "type" in value else ""
    return name.encode() + b"data: " + msgspec.json.encode(value) + b"\n\n"
