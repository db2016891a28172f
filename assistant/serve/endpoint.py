"""The endpoint: OpenAI's completions, responses and list of models, over HTTP."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request as HttpRequest
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from assistant.events import Decoded, Event, Failed, Finished, Prepared, Ready, Stats, Stop, Warned
from assistant.process.engine_process import EngineProcess
from assistant.request import Message, Prefill, Request
from assistant.serve.api_error import JSON, ApiError, api_error_of, from_failure
from assistant.serve.completion_objects import Completion, Object
from assistant.serve.completion_schema import Adapt, CompletionRequest, from_chat, parse
from assistant.serve.exchange import Exchange, Waiting, as_object, as_stream, body_of
from assistant.serve.guard import Guard
from assistant.serve.recent_answers import AnswerTokens, LastSuggestions
from assistant.serve.responses import Response as ResponseObjects
from assistant.serve.responses import from_response
from assistant.serve.text_completion import NativeCompletion, TextCompletion, from_text
from assistant.service import EventStream
from models.errors import Cancelled

MAX_WAITING = 32  # requests, while one is answered
SILENCE_S = 3.0  # after which a stream says that its client waits
TOO_LONG = "The conversation fits into the context only without its oldest turns."
MAX_WARNINGS_REMEMBERED = 256  # warnings are shown once, however often an agent causes them
STOPPING = Failed("The server is being stopped.", Cancelled.__name__)
REPLACED = Failed("A newer request of the same client has replaced this one.", "Replaced")

_ANSWERS: dict[str, tuple[Adapt, type[Completion]]] = {
    "/chat/completions": (from_chat, Completion),
    "/completions": (from_text, TextCompletion),
    **dict.fromkeys(
        ("/completion", "/infill"), (partial(from_text, native=True), NativeCompletion)
    ),
    "/responses": (from_response, ResponseObjects),
}


class Endpoint:
    """Answer requests with the models of an engine: an ASGI application."""

    def __init__(
        self,
        service: EngineProcess,
        name: str,  # by which clients call the target
        ready: Ready,
        defaults: Request,  # for the fields that a request does not set
        guard: Guard,
        report: Callable[[Exchange], None],  # called in the event loop with each that has ended
        warn: Callable[[str], None],  # called with each new warning or notice on a request
        reads_ahead: Callable[[], bool],  # whether to prefill the likely next one
        strict: bool = False,  # whether to refuse what would have no effect
    ) -> None:
        self._service, self._defaults, self._guard = service, defaults, guard
        self._name, self._report, self._warn = name, report, warn
        self._reads_ahead, self._strict, self._thinks = reads_ahead, strict, ready.thinks
        target, draft = ready.target, ready.draft and ready.draft.name
        self._model: Object = {
            "id": name, "object": "model", "created": int(time.time()), "owned_by": "specchat",
            "specchat": {"name": target.name, "context": target.n_ctx, "draft": draft},
        }  # fmt: skip
        self._remembered, self._suggestions = AnswerTokens(), LastSuggestions()
        self._warned = deque[str](maxlen=MAX_WARNINGS_REMEMBERED)
        self._jobs: dict[Exchange, EventStream] = {}  # for which clients wait, in their order
        self._prefilling: asyncio.Task[None] | None = None  # keeps the task alive
        routes = [
            *(
                Route(path, partial(self._respond, *kind), methods=["POST"])
                for path, kind in _ANSWERS.items()
            ),
            Route("/models", self._models),
            Route("/models/{name:path}", self._models),
            Route("/health", lambda http: _json({"status": "ok"})),
        ]
        handlers = dict.fromkeys((ApiError, HTTPException, Exception), _refuse)
        # Some programs leave /v1 out.
        self._app = Starlette(
            routes=[Mount("/v1", routes=routes), *routes], exception_handlers=handlers
        )
        self._app.router.redirect_slashes = False  # `__call__` removes them

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and report the exchange when it has ended."""
        began = time.perf_counter()
        # Some programs send the address with the path, or join them with one slash too many.
        parts = [*filter(None, scope["path"].split("/"))]
        scope["path"] = "/" + "/".join(parts[2 * (parts[:1] in (["http:"], ["https:"])) :])
        exchange = Exchange(scope, receive, send)
        scope["state"]["exchange"] = exchange
        try:
            api_error = self._guard.check(Headers(scope=scope), scope["method"])
            app: ASGIApp = self._app if api_error is None else _as_json(api_error, exchange)
            if api_error is None or api_error.status == 401:  # pages that may ask may read it
                app = CORSMiddleware(
                    app, [*self._guard.origins], ("GET", "POST"), ("*",),
                    allow_private_network=True, max_age=60,
                )  # fmt: skip
            await app(scope, exchange.receive, exchange.send)
        except asyncio.CancelledError:
            if exchange.status:  # a part of its answer is sent
                exchange.status, exchange.remark = 499, "stopped"
                raise
            await _as_json(from_failure(STOPPING), exchange)(scope, exchange.receive, exchange.send)
        except Exception:  # Starlette has sent it to the client; or the client stopped reading
            pass
        finally:
            if job := self._jobs.pop(exchange, None):
                job.cancel()
            if exchange.answer.end is not None:
                self._remembered.remember(exchange.answer.end)
            exchange.seconds = time.perf_counter() - began
            self._report(exchange)

    def stop(self) -> None:
        """End all answers with an error, which their clients receive."""
        for job in self._jobs.values():
            job.end(STOPPING)

    async def _respond(
        self, adapt: Adapt, objects: Callable[[CompletionRequest], Completion], http: HttpRequest
    ) -> Response:
        exchange: Exchange = http.state.exchange
        kind = http.headers.get("content-type", "").partition(";")[0].strip().lower()
        encoding = http.headers.get("content-encoding", "identity").lower()
        # A page cannot send JSON elsewhere without permission.
        if kind != "application/json" or encoding != "identity":
            why = "The body must be application/json, and not compressed."
            raise ApiError(415, why, "unsupported_media_type")
        body = await body_of(http)
        chat_request = parse(body, self._defaults, self._name, adapt, self._strict)
        request = chat_request.request
        if chat_request.is_strict and not self._thinks:
            self._check_thinking(request)
        for notice in chat_request.notices:
            self._warn_once(notice)
        messages = tuple(map(self._remembered.with_tokens, request.messages))
        request = replace(request, messages=messages)
        reply, exchange.answer.indent = objects(chat_request), chat_request.limits.indent
        if chat_request.limits.is_empty:
            self._prefill(request)
            nothing = Finished("", (), Stop.LENGTH, Stats(request.mode))
            return _json(reply.whole(exchange.answer, nothing))
        events = self._events(request, exchange, chat_request)
        if not chat_request.streams:
            return _json(await exchange.while_connected(as_object(events, reply, exchange)))
        chunks = as_stream(events, reply, exchange)
        first = await exchange.while_connected(anext(chunks))  # an error now has its own status
        headers, whole_stream = {"cache-control": "no-store"}, _prepend(first, chunks)
        return StreamingResponse(whole_stream, headers=headers, media_type="text/event-stream")

    async def _events(
        self, request: Request, exchange: Exchange, chat_request: CompletionRequest
    ) -> AsyncIterator[Event | Waiting]:
        if len(self._jobs) > MAX_WAITING:
            why = f"{MAX_WAITING} requests are waiting already; ask again later."
            raise ApiError(429, why, "queue_full", headers={"retry-after": "5"})
        if request.infill:
            # A newer gap of a client replaces its older ones; the same one asked again does not.
            exchange.gap = request.messages, request.infill
            for other, job in self._jobs.items():
                if other.client == exchange.client and other.gap not in (None, exchange.gap):
                    job.end(REPLACED)
            request = self._suggestions.predict(request, exchange.answer)
        job = self._jobs[exchange] = self._service.do(request)
        if before := len(self._jobs) - 1:
            yield Waiting(before)
        began, limit_s = None, chat_request.limits.seconds
        async for event in self._pace(exchange, job):
            if isinstance(event, Failed):
                raise from_failure(event)
            if isinstance(event, Warned):
                self._warn_once(event.text)
            if isinstance(event, Prepared) and event.dropped_turns:
                if chat_request.is_strict:
                    raise ApiError(400, TOO_LONG, "context_length_exceeded")
                self._warn_once(TOO_LONG)
            if began is None and isinstance(event, Decoded):
                began = time.perf_counter()
            yield event
            is_late = limit_s and began and time.perf_counter() - began > limit_s
            if exchange.answer.is_over or (is_late and "\n" in exchange.answer.text):
                job.cancel()
        end = exchange.answer.end
        if end is not None and not request.raw and len(self._jobs) == 1 and self._reads_ahead():
            self._prefill(_next_round(request, end))

    def _prefill(self, request: Request) -> None:
        """Prefill a request that may come, until another job begins."""
        self._prefilling = asyncio.create_task(_drain(self._service.do(Prefill(request))))

    async def _pace(self, exchange: Exchange, job: EventStream) -> AsyncIterator[Event | Waiting]:
        """Yield the events of a job, and that it waits whenever there is none for a while."""
        while True:
            try:
                async with asyncio.timeout(SILENCE_S):
                    event = await anext(job)
            except TimeoutError:
                event = Waiting([*self._jobs].index(exchange))
            except StopAsyncIteration:
                return
            yield event

    def _warn_once(self, text: str) -> None:
        if text not in self._warned:
            self._warned.append(text)
            self._warn(text)

    async def _models(self, http: HttpRequest) -> Response:
        name = http.path_params.get("name")
        if name is None:
            return _json({"object": "list", "data": [self._model]})
        if name != self._name:
            why = f"There is no model {name} here. This is {self._name}."
            raise ApiError(404, why, "model_not_found", "model")
        return _json(self._model)

    def _check_thinking(self, request: Request) -> None:
        is_effort = request.effort != self._defaults.effort
        if is_effort or request.thinking == "on" != self._defaults.thinking:
            name = "reasoning_effort" if is_effort else "chat_template_kwargs"
            why = f"This model does not think, so {name} is not supported; leave it out."
            raise ApiError(400, why, "unsupported_parameter", name)


async def _drain(events: EventStream) -> None:
    """Read a stream to its end, as the engine's other jobs would wait for a full one."""
    async for _ in events:
        pass


async def _refuse(http: HttpRequest, error: Exception) -> Response:
    if http.method == "OPTIONS" and getattr(error, "status_code", 0) == 405:
        return Response(status_code=204, headers=getattr(error, "headers", None))
    return _as_json(api_error_of(error), http.state.exchange)


def _as_json(api_error: ApiError, exchange: Exchange) -> Response:
    exchange.remark = exchange.remark or str(api_error)
    return _json(api_error.body, api_error.status, **api_error.headers)


def _next_round(request: Request, end: Finished) -> Request:
    """Return the likely next request: this one, its answer, and a tool's result or a question."""
    ids = () if end.thought else end.token_ids  # templates rewrite an answer with a thought
    answer = Message("assistant", end.text, ids, tool_calls=end.tool_calls)
    following = Message("user", "")
    if end.tool_calls:
        following = Message("tool", "", call_id=end.tool_calls[0].id)
    return replace(request, messages=(*request.messages, answer, following))


def _json(value: Object, status: int = 200, **headers: str) -> Response:
    return Response(msgspec.json.encode(value), status, {**JSON, **headers})


async def _prepend(first: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in chunks:
        yield chunk
