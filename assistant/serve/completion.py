"""Turn the engine's events into what the clients of chat completions receive."""

from collections.abc import AsyncIterator

import msgspec

from assistant.events import Decoded, Event, Finished, Loading, Prefilled, Prepared
from assistant.serve.api_error import api_error_of
from assistant.serve.completion_objects import Completion, Object
from assistant.serve.completion_schema import CompletionRequest
from assistant.serve.exchange import Exchange

Events = AsyncIterator[Event]


async def whole(events: Events, chat_request: CompletionRequest, exchange: Exchange) -> bytes:
    """Return the answer as one object.

    Raises:
        ApiError: there is no answer.
    """
    answer = exchange.answer
    async for event in events:
        match event:
            case Decoded():
                answer.add(event)
            case Finished():
                answer.finish(event)
    assert answer.end is not None
    return msgspec.json.encode(Completion(chat_request).whole(answer, answer.end))


async def stream(
    events: Events, chat_request: CompletionRequest, exchange: Exchange
) -> AsyncIterator[bytes]:
    """Yield the answer as server-sent events, the first one when the engine starts it.

    Raises:
        ApiError: there is no answer. A later error is sent within the stream.
    """
    reply, has_begun, answer = Completion(chat_request), False, exchange.answer
    try:
        async for event in events:
            match event:
                case Prepared():
                    has_begun = True
                    yield _data(reply.first_chunk())
                case Loading() | Prefilled() if has_begun:
                    yield b": the question is being read\n\n"
                case Decoded() if event.tokens or event.tool_calls:
                    first, *others = answer.add(event)
                    yield _data(reply.chunk(first, event.tokens))
                    for delta in others:
                        yield _data(reply.chunk(delta))
                case Finished():
                    for delta in answer.finish(event):
                        yield _data(reply.chunk(delta))
                    yield _data(reply.last_chunk(answer, event))
        if chat_request.wants_usage and answer.end is not None:
            yield _data(reply.usage_chunk(answer.end.stats))
    # The status has been sent already; the client should learn why the stream ends.
    except Exception as error:
        if not has_begun:
            raise
        api_error = api_error_of(error)
        exchange.status, exchange.remark = api_error.status, str(api_error)
        yield _data(api_error.body)
    yield b"data: [DONE]\n\n"


def _data(value: Object) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
