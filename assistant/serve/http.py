"""HTTP/1.1 on one connection: requests in, each answered before the next is read."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import h11

MOST_HEADERS = 16_384  # bytes
MOST_BODY = 8_388_608
MOST_AHEAD = 65_536  # that a client may send before it has its answer
PATIENCE_S = 60.0  # for a request to arrive whole, and for a client to take what it is sent
LINGER_S = 2.0  # for one that still sends what was refused
CHUNK = 65_536


class Unreadable(Exception):
    """What a client sent is no request that could be answered; `status` says how it is told."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Gone(Exception):
    """The client does not listen any more."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it came."""

    method: str
    path: str  # without the query
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class Connection:
    """One client, over a pair of streams."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MOST_HEADERS)
        self._wants_body = True

    async def requests(self) -> AsyncIterator[HttpRequest]:
        """Yield requests while there are any; each must be answered before the next.

        Raises:
            Unreadable: it is none; after an answer to that, all is over.
            Gone: the client has left in the middle of one.
        """
        while True:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    asked = await self._request()
            except TimeoutError:
                if self._http.their_state is h11.IDLE:
                    return
                raise Unreadable(408, "The request did not arrive within a minute.") from None
            except h11.RemoteProtocolError as error:
                raise Unreadable(error.error_status_hint, f"This is no HTTP: {error}.") from error
            if asked is None:
                return
            self._wants_body = asked.method != "HEAD"
            yield asked
            if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                return
            self._http.start_next_cycle()

    async def while_there(self, answering: Coroutine[Any, Any, None]) -> None:
        """Wait for an answer to be given; it is cancelled when the client leaves.

        Raises:
            Gone: the client has left.
        """
        task, leaving = asyncio.create_task(answering), asyncio.create_task(self._leaving())
        try:
            await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise Gone
        finally:
            for each in (task, leaving):
                each.cancel()
            await asyncio.gather(task, leaving, return_exceptions=True)
        await task

    async def respond(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Send a whole answer."""
        await self.begin(status, {**headers, "content-length": str(len(body))})
        await self.send(body)
        await self.end()

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head of an answer."""
        reason = HTTPStatus(status).phrase
        await self._send(
            h11.Response(status_code=status, reason=reason, headers=list(headers.items()))
        )

    async def send(self, data: bytes) -> None:
        """Send a part of an answer, unless only its head was asked for."""
        if self._wants_body:
            await self._send(h11.Data(data=data))

    async def end(self) -> None:
        """End an answer."""
        await self._send(h11.EndOfMessage())

    @property
    def has_begun(self) -> bool:
        """Whether an answer has begun and is not over: its status is out."""
        return self._http.our_state is h11.SEND_BODY

    async def close(self) -> None:
        """Close the connection; a client that still sends shall see its answer first."""
        with suppress(OSError, TimeoutError):
            if self._http.their_state in (h11.SEND_BODY, h11.ERROR):
                self._writer.write_eof()
                async with asyncio.timeout(LINGER_S):
                    while await self._reader.read(CHUNK):
                        pass
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _request(self) -> HttpRequest | None:
        head, body = None, bytearray()
        while True:
            match event := await self._next():
                case h11.Request():
                    head = event
                    _refuse_length(event)
                case h11.Data():
                    body += event.data
                    _refuse_size(len(body))
                case h11.EndOfMessage() if head is not None:
                    return _asking(head, bytes(body))
                case _:
                    return None

    async def _next(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(await self._read())
        return event

    async def _read(self) -> bytes:
        try:
            return await self._reader.read(CHUNK)
        except OSError as error:
            raise Gone from error

    async def _leaving(self) -> None:
        """Return when the client has left, or sends without listening."""
        ahead = 0
        while ahead <= MOST_AHEAD and (data := await self._read()):
            ahead += len(data)
            self._http.receive_data(data)

    async def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        try:
            self._writer.write(data or b"")
            async with asyncio.timeout(PATIENCE_S):
                await self._writer.drain()
        except (OSError, TimeoutError) as error:
            raise Gone from error


def _refuse_length(head: h11.Request) -> None:
    for name, value in head.headers:
        if name == b"content-length":
            _refuse_size(int(value))


def _refuse_size(size: int) -> None:
    if size > MOST_BODY:
        raise Unreadable(413, f"The body has more than {MOST_BODY >> 20} MiB.")


def _asking(head: h11.Request, body: bytes) -> HttpRequest:
    headers = {name.decode("ascii"): value.decode("latin-1") for name, value in head.headers}
    path = head.target.decode("ascii", "replace").partition("?")[0]
    return HttpRequest(head.method.decode("ascii"), path, headers, body)
