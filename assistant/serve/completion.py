"""Turn the engine's events into what the clients of chat completions receive."""

from collections.abc import AsyncIterator

import msgspec

from assistant.events import Decoded, Event, Finished, Loading, Prefilled, Prepared
from assistant.serve.completion_objects import Completion, Object
from assistant.serve.completion_schema import CompletionRequest
from assistant.serve.exchange import Exchange
from assistant.serve.refusal import refusal_of

Events = AsyncIterator[Event]


async def whole(events: Events, asked: CompletionRequest, exchange: Exchange) -> bytes:
    """Return the answer as one object.

    Raises:
        Refusal: there is no answer.
    """
    answer = exchange.answer
    async for event in events:
        match event:
            case Decoded():
                answer.add(event)
            case Finished():
                answer.finish(event)
    assert answer.end is not None
    return msgspec.json.encode(Completion(asked).whole(answer, answer.end))


async def stream(
    events: Events, asked: CompletionRequest, exchange: Exchange
) -> AsyncIterator[bytes]:
    """Yield the answer as server-sent events; the first comes when the engine has begun it.

    Raises:
        Refusal: there is no answer. A later error is told within the stream.
    """
    reply, has_begun, answer = Completion(asked), False, exchange.answer
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
        if asked.wants_usage and answer.end is not None:
            yield _data(reply.usage_chunk(answer.end.stats))
    # The status of a stream is out already; whoever reads it should hear why it ends.
    except Exception as error:
        if not has_begun:
            raise
        refusal = refusal_of(error)
        exchange.status, exchange.remark = refusal.status, str(refusal)
        yield _data(refusal.body)
    yield b"data: [DONE]\n\n"


def _data(value: Object) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
