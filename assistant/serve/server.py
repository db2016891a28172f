"""The endpoint: who asks what, and who answers."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from socket import socket
from urllib.parse import unquote

import msgspec

from assistant.events import Finished, Ready
from assistant.request import Request
from assistant.serve.answer_tokens import AnswerTokens
from assistant.serve.completion import JSON, answer, refuse
from assistant.serve.completion_objects import card
from assistant.serve.completion_schema import understand
from assistant.serve.guard import Guard
from assistant.serve.http import Connection, Gone, HttpRequest, Unreadable
from assistant.serve.refusal import Refusal
from assistant.serve.request_queue import RequestQueue

MOST_CONNECTIONS = 128
CHAT, MODELS = "/v1/chat/completions", "/v1/models"
_METHODS = {CHAT: "POST", MODELS: "GET"}


@dataclass(frozen=True, slots=True)
class Served:
    """A request that is over, for whoever watches."""

    method: str
    path: str
    status: int
    seconds: float
    answers: tuple[Finished, ...] = ()
    remark: str = ""  # why it was refused, or that its client left


class Endpoint:
    """Answer requests with the models of a desk.

    Args:
        name: what clients call the target.
        usual: what a request has that says nothing of it: the settings.
        report: is called in the event loop with every request that is over.
        notice: is called with what the engine remarks on answers.
    """

    def __init__(
        self,
        desk: RequestQueue,
        name: str,
        ready: Ready,
        usual: Request,
        guard: Guard,
        report: Callable[[Served], None],
        notice: Callable[[str], None],
    ) -> None:
        self._desk, self._usual, self._guard = desk, usual, guard
        self._name, self._ready = name, ready
        self._report, self._notice = report, notice
        self._loaded = int(time.time())
        self._remembered = AnswerTokens()
        self._open: set[asyncio.Task[None]] = set()

    async def serve(self, listening: socket, until: asyncio.Event) -> None:
        """Answer whoever connects until told to stop; answers under way are stopped then."""
        server = await asyncio.start_server(self._accept, sock=listening)
        try:
            await until.wait()
        finally:
            server.close()
            for task in self._open:
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= MOST_CONNECTIONS:
            writer.close()
            return
        task = asyncio.create_task(self._attend(Connection(reader, writer)))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _attend(self, connection: Connection) -> None:
        try:
            async for asking in connection.requests():
                await self._serve_one(connection, asking)
        except Unreadable as error:
            with suppress(Gone):
                await refuse(connection, Refusal(error.status, str(error), "unreadable"))
        except Gone:
            pass
        finally:
            await connection.close()

    async def _serve_one(self, connection: Connection, asking: HttpRequest) -> None:
        began = time.perf_counter()
        served = partial(self._served, asking, began)
        answers: list[Finished] = []
        try:
            await connection.while_there(self._answer(connection, asking, answers))
        except Refusal as refusal:
            await self._refuse(connection, refusal, served)
        except (Gone, asyncio.CancelledError) as end:
            served(499, remark="the client left" if isinstance(end, Gone) else "stopped")
            raise
        # The next request may well succeed, and whoever asked should hear of it.
        except Exception as error:
            why = f"This is a bug in specchat: {type(error).__name__}."
            await self._refuse(connection, Refusal(500, why, "bug"), served)
        else:
            served(200, tuple(answers))

    async def _refuse(
        self, connection: Connection, refusal: Refusal, served: Callable[..., None]
    ) -> None:
        served(refusal.status, remark=str(refusal))
        await refuse(connection, refusal)

    def _served(
        self,
        asking: HttpRequest,
        began: float,
        status: int,
        answers: tuple[Finished, ...] = (),
        remark: str = "",
    ) -> None:
        seconds = time.perf_counter() - began
        self._report(Served(asking.method, asking.path, status, seconds, answers, remark))

    async def _answer(
        self, connection: Connection, asking: HttpRequest, answers: list[Finished]
    ) -> None:
        self._guard.admit(asking.headers)
        path = unquote(asking.path)
        allowed = _METHODS.get(path) or _METHODS.get(path.removesuffix(f"/{self._name}"))
        if allowed is None:
            raise Refusal(404, f"There are {CHAT} and {MODELS} here.", "not_found")
        if asking.method != allowed:
            why = f"{path} takes {allowed}."
            raise Refusal(405, why, "method_not_allowed", headers={"allow": allowed})
        if path == CHAT:
            answers += await self._chat(connection, asking)
        else:
            whole = {"object": "list", "data": [self._card]}
            await _give(connection, whole if path == MODELS else self._card)

    async def _chat(self, connection: Connection, asking: HttpRequest) -> tuple[Finished, ...]:
        kind = asking.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":  # which a page cannot send to strangers unasked
            raise Refusal(415, "The body must be application/json.", "unsupported_media_type")
        asked = understand(asking.body, self._usual)
        if asked.model != self._name:
            why = f"There is no model {asked.model} here. This is {self._name}."
            raise Refusal(404, why, "model_not_found", "model")
        messages = self._remembered.recall(asked.request.messages)
        asked = replace(asked, request=replace(asked.request, messages=messages))
        answers = await answer(connection, self._desk, asked, self._notice)
        for finished in answers:
            self._remembered.keep(finished)
        return answers

    @property
    def _card(self) -> dict[str, object]:
        return card(self._name, self._ready, self._loaded)


async def _give(connection: Connection, value: object) -> None:
    await connection.respond(200, JSON, msgspec.json.encode(value))
