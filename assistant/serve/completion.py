"""Chat completions: from the engine's events to what their clients are sent."""

from collections.abc import AsyncIterator

import msgspec

from assistant.events import Decoded, Event, Finished, Loading, OneOf, Prefilled, Prepared, Token
from assistant.serve.answer_deltas import AnswerDeltas, Object
from assistant.serve.completion_objects import Completion
from assistant.serve.completion_schema import CompletionRequest
from assistant.serve.exchange import Exchange
from assistant.serve.refusal import refusal_of

Events = AsyncIterator[Event]


async def whole(events: Events, asked: CompletionRequest, exchange: Exchange) -> bytes:
    """Return all answers as one object.

    Raises:
        Refusal: there is no answer.
    """
    tokens: list[list[Token]] = [[] for _ in range(asked.request.answers)]
    told = [AnswerDeltas() for _ in tokens]
    ends: dict[int, Finished] = {}
    async for event in events:
        match _told(event):
            case number, Decoded(more):
                tokens[number] += more
                told[number].more(more)
            case number, Finished() as end:
                ends[number] = end
                told[number].rest(end)
    exchange.answers = _in_order(ends)
    answers = [(told[number], ends[number], tokens[number]) for number in sorted(ends)]
    return msgspec.json.encode(Completion(asked).whole(answers))


async def stream(
    events: Events, asked: CompletionRequest, exchange: Exchange
) -> AsyncIterator[bytes]:
    """Yield answers as server-sent events; the first comes when the engine has begun one.

    Raises:
        Refusal: before the first, there is no answer; later, the client is told within the stream.
    """
    reply, has_begun = Completion(asked), False
    told = [AnswerDeltas() for _ in range(asked.request.answers)]
    ends: dict[int, Finished] = {}
    try:
        async for event in events:
            match event:
                case Prepared() if not has_begun:  # answers that come in turn are prepared in turn
                    has_begun = True
                    yield b"".join(_data(reply.first(number)) for number in range(len(told)))
                case Loading() | Prefilled() if has_begun:
                    yield b": the question is being read\n\n"
            match _told(event):
                case number, Decoded(tokens) if tokens:
                    first, *others = told[number].more(tokens)
                    yield _data(reply.more(number, first, tokens))
                    for delta in others:
                        yield _data(reply.more(number, delta))
                case number, Finished() as end:
                    ends[number] = end
                    for delta in told[number].rest(end):
                        yield _data(reply.more(number, delta))
                    yield _data(reply.last(number, told[number], end))
        exchange.answers = _in_order(ends)
        if asked.wants_usage:
            yield _data(reply.usage([end.stats for end in exchange.answers]))
    # The status of a stream is out already; whoever reads it should hear why it ends.
    except Exception as error:
        if not has_begun:
            raise
        refusal = refusal_of(error)
        exchange.status, exchange.remark = refusal.status, str(refusal)
        yield _data(refusal.body)
    yield b"data: [DONE]\n\n"


def _told(event: Event) -> tuple[int, Decoded | Finished] | None:
    """Return what an answer says, and which of them; None for all else."""
    match event:
        case OneOf(number, said):
            return number, said
        case Decoded() | Finished():
            return 0, event
    return None


def _in_order(ends: dict[int, Finished]) -> tuple[Finished, ...]:
    return tuple(ends[number] for number in sorted(ends))


def _data(value: Object) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
