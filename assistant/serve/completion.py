"""Turn the engine's events into what the clients of chat completions receive."""

from collections.abc import AsyncIterator

import msgspec

from assistant.events import Decoded, Event, Finished, Loading, OneOf, Prefilled, Prepared
from assistant.serve.completion_objects import Completion, Object
from assistant.serve.completion_schema import CompletionRequest
from assistant.serve.exchange import Exchange
from assistant.serve.refusal import refusal_of

Events = AsyncIterator[Event]


async def whole(events: Events, asked: CompletionRequest, exchange: Exchange) -> bytes:
    """Return all answers as one object.

    Raises:
        Refusal: there is no answer.
    """
    async for event in events:
        match _numbered(event):
            case number, Decoded() as round_:
                exchange.answers[number].add(round_)
            case number, Finished() as end:
                exchange.answers[number].finish(end)
    return msgspec.json.encode(Completion(asked).whole(exchange.answers))


async def stream(
    events: Events, asked: CompletionRequest, exchange: Exchange
) -> AsyncIterator[bytes]:
    """Yield answers as server-sent events; the first comes when the engine has begun one.

    Raises:
        Refusal: there is no answer. A later error is told within the stream.
    """
    reply, has_begun, answers = Completion(asked), False, exchange.answers
    try:
        async for event in events:
            match event:
                case Prepared() if not has_begun:  # answers that come in turn are prepared in turn
                    has_begun = True
                    yield b"".join(
                        _data(reply.first_chunk(number)) for number in range(len(answers))
                    )
                case Loading() | Prefilled() if has_begun:
                    yield b": the question is being read\n\n"
            match _numbered(event):
                case number, Decoded() as round_ if round_.tokens or round_.calls:
                    first, *others = answers[number].add(round_)
                    yield _data(reply.chunk(number, first, round_.tokens))
                    for delta in others:
                        yield _data(reply.chunk(number, delta))
                case number, Finished() as end:
                    for delta in answers[number].finish(end):
                        yield _data(reply.chunk(number, delta))
                    yield _data(reply.last_chunk(number, answers[number], end))
        if asked.wants_usage:
            yield _data(reply.usage_chunk([end.stats for end in exchange.ends]))
    # The status of a stream is out already; whoever reads it should hear why it ends.
    except Exception as error:
        if not has_begun:
            raise
        refusal = refusal_of(error)
        exchange.status, exchange.remark = refusal.status, str(refusal)
        yield _data(refusal.body)
    yield b"data: [DONE]\n\n"


def _numbered(event: Event) -> tuple[int, Decoded | Finished] | None:
    """Return the number of an answer and what it says; None for other events."""
    match event:
        case OneOf(number, said):
            return number, said
        case Decoded() | Finished():
            return 0, event
    return None


def _data(value: Object) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
