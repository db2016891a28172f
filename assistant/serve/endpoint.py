"""The endpoint: OpenAI's chat completions and list of models, over HTTP."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from assistant.events import Event, Failed, Finished, Noticed, Ready
from assistant.request import Request
from assistant.serve.answer_tokens import AnswerTokens
from assistant.serve.completion import stream, whole
from assistant.serve.completion_schema import understand
from assistant.serve.exchange import EngineJob, Exchange, body_of
from assistant.serve.guard import Guard
from assistant.serve.refusal import JSON, Refusal, from_failure, refusal_of
from assistant.service import Service

MAX_WAITING = 32
"""Requests that may wait while one is answered."""
MAX_NOTICES_REMEMBERED = 64
"""Remarks of the engine that are not repeated, however often an agent asks with its tools."""
CHAT, MODELS = "/v1/chat/completions", "/v1/models"


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
    """Answer requests with the models of an engine: an ASGI application.

    Args:
        name: what clients call the target.
        usual: what a request has that says nothing of it: the settings.
        report: is called in the event loop with every request that is over.
        notice: is called with what the engine remarks on answers.
    """

    def __init__(
        self,
        service: Service,
        name: str,
        ready: Ready,
        usual: Request,
        guard: Guard,
        report: Callable[[Served], None],
        notice: Callable[[str], None],
    ) -> None:
        self._service, self._usual, self._guard = service, usual, guard
        self._name, self._report, self._notice = name, report, notice
        self._card = _card(name, ready, int(time.time()))
        self._thinks = ready.thinks
        self._remembered = AnswerTokens()
        self._noticed = deque[str](maxlen=MAX_NOTICES_REMEMBERED)
        self._jobs = 0  # that clients wait for
        self._app = Starlette(
            routes=[
                Route(CHAT, self._complete, methods=["POST"]),
                Route(MODELS, self._list),
                Route(f"{MODELS}/{{name:path}}", self._show),
            ],
            exception_handlers=dict.fromkeys((Refusal, HTTPException, Exception), _refuse),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and report it when it is over."""
        began = time.perf_counter()
        exchange = Exchange(receive, send)
        scope["state"]["exchange"] = exchange
        try:
            refusal = self._guard.refusal(Headers(scope=scope))
            app = self._app if refusal is None else _told(refusal, exchange)
            await app(scope, exchange.receive, exchange.send)
        except asyncio.CancelledError:
            exchange.status, exchange.remark = 499, "stopped"
            raise
        # Starlette raises again what it has told the client; or the client stopped reading.
        except Exception:
            pass
        finally:
            if exchange.job is not None:
                exchange.job.cancel()
                self._jobs -= 1
            for answer in exchange.answers:
                self._remembered.keep(answer)
            seconds = time.perf_counter() - began
            told = exchange.status, seconds, exchange.answers, exchange.remark
            self._report(Served(scope["method"], scope["path"], *told))

    async def _complete(self, http: HttpRequest) -> Response:
        exchange: Exchange = http.state.exchange
        kind = http.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":  # which a page cannot send to strangers unasked
            raise Refusal(415, "The body must be application/json.", "unsupported_media_type")
        asked = understand(await body_of(http), self._usual)
        self._check(asked.model)
        self._check_thinking(asked.request)
        messages = self._remembered.recall(asked.request.messages)
        asked = replace(asked, request=replace(asked.request, messages=messages))
        events = self._events(asked.request, exchange)
        if not asked.streams:
            return _json(await exchange.while_there(whole(events, asked, exchange)))
        chunks = stream(events, asked, exchange)
        first = await exchange.while_there(anext(chunks))  # or its refusal, with a status
        return StreamingResponse(
            _from(first, chunks),
            media_type="text/event-stream",
            headers={"cache-control": "no-store"},
        )

    async def _events(self, request: Request, exchange: Exchange) -> AsyncIterator[Event]:
        if self._jobs > MAX_WAITING:
            why = f"{MAX_WAITING} requests wait already; ask again later."
            raise Refusal(429, why, "queue_full", headers={"retry-after": "5"})
        self._jobs += 1
        exchange.job = job = EngineJob(self._service, request)
        async for event in job.events():
            if isinstance(event, Failed):
                raise from_failure(event)
            if isinstance(event, Noticed) and event.text not in self._noticed:
                self._noticed.append(event.text)
                self._notice(event.text)
            yield event

    async def _list(self, http: HttpRequest) -> Response:
        return _json(msgspec.json.encode({"object": "list", "data": [self._card]}))

    async def _show(self, http: HttpRequest) -> Response:
        self._check(http.path_params["name"])
        return _json(msgspec.json.encode(self._card))

    def _check_thinking(self, request: Request) -> None:
        wanted = {"reasoning_effort": request.effort != self._usual.effort}
        wanted["chat_template_kwargs"] = request.thinking == "on" != self._usual.thinking
        for name in (name for name, asked in wanted.items() if asked and not self._thinks):
            why = f"This model does not think, so {name} is not supported; leave it out."
            raise Refusal(400, why, "unsupported_parameter", name)

    def _check(self, name: str) -> None:
        if name != self._name:
            why = f"There is no model {name} here. This is {self._name}."
            raise Refusal(404, why, "model_not_found", "model")


async def _refuse(http: HttpRequest, error: Exception) -> Response:
    return _told(refusal_of(error), http.state.exchange)


def _told(refusal: Refusal, exchange: Exchange) -> Response:
    exchange.remark = exchange.remark or str(refusal)
    body = msgspec.json.encode(refusal.body)
    return Response(body, refusal.status, headers={**JSON, **refusal.headers})


def _json(body: bytes) -> Response:
    return Response(body, headers=JSON)


async def _from(first: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in chunks:
        yield chunk


def _card(name: str, ready: Ready, loaded: int) -> dict[str, Any]:
    """Return what is said about the model that answers, which was loaded at a time."""
    target, draft = ready.target, ready.draft
    own = {"name": target.name, "context": target.n_ctx, "draft": draft.name if draft else None}
    names = {"id": name, "object": "model", "created": loaded, "owned_by": "specchat"}
    return {**names, "specchat": own}
