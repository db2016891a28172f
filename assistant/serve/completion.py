"""One chat completion: from the engine's events to what its client is sent."""

from collections.abc import AsyncIterator, Callable

import msgspec

from assistant.events import (
    Decoded,
    Event,
    Failed,
    Finished,
    Loading,
    Noticed,
    OneOf,
    Prefilled,
    Prepared,
    Token,
)
from assistant.serve.completion_objects import Completion, Object
from assistant.serve.completion_schema import CompletionRequest
from assistant.serve.http import Connection
from assistant.serve.refusal import Refusal, from_failure
from assistant.serve.request_queue import Job, RequestQueue

JSON = {"content-type": "application/json", "cache-control": "no-store"}
STREAM = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store"}
Say = Callable[[str], None]


async def answer(
    connection: Connection, desk: RequestQueue, asked: CompletionRequest, notice: Say
) -> tuple[Finished, ...]:
    """Answer a chat completion, whole or in a stream; return how each of its answers ended.

    Raises:
        Refusal: there is no answer; when the connection has begun one, its client is to be told
            within it.
    """
    job = desk.ask(asked.request)
    try:
        reply = Completion(asked.model)
        send = _stream if asked.streams else _whole
        return await send(connection, job, reply, asked, notice)
    finally:
        job.cancel()


async def _whole(
    connection: Connection, job: Job, reply: Completion, asked: CompletionRequest, notice: Say
) -> tuple[Finished, ...]:
    tokens: list[list[Token]] = [[] for _ in range(asked.request.answers)]
    ends: dict[int, Finished] = {}
    async for event in _heard(job, notice):
        match _told(event):
            case number, Decoded(more):
                tokens[number] += more
            case number, Finished() as end:
                ends[number] = end
    answers = [(ends[number], tokens[number]) for number in sorted(ends)]
    await connection.respond(200, JSON, msgspec.json.encode(reply.whole(answers)))
    return tuple(end for end, _ in answers)


async def _stream(
    connection: Connection, job: Job, reply: Completion, asked: CompletionRequest, notice: Say
) -> tuple[Finished, ...]:
    sent = [""] * asked.request.answers
    ends: dict[int, Finished] = {}
    async for event in _heard(job, notice):
        match event:
            case Prepared():
                if not connection.has_begun:  # answers that come in turn are prepared in turn
                    await connection.begin(200, STREAM)
                    for number in range(len(sent)):
                        await _send(connection, reply.first(number))
            case Loading() | Prefilled():
                if connection.has_begun:
                    await connection.send(b": the question is being read\n\n")
        match _told(event):
            case number, Decoded(tokens) if tokens:
                text = "".join(token.text for token in tokens)
                sent[number] += text
                await _send(connection, reply.more(number, text, tokens))
            case number, Finished(text, _, stop, stats) as end:
                ends[number] = end
                if rest := text[len(sent[number]) :]:
                    await _send(connection, reply.more(number, rest))
                await _send(connection, reply.last(number, stop, stats))
    answers = tuple(ends[number] for number in sorted(ends))
    if asked.wants_usage:
        await _send(connection, reply.usage([end.stats for end in answers]))
    await end_stream(connection)
    return answers


def _told(event: Event) -> tuple[int, Decoded | Finished] | None:
    """Return what an answer says, and which of them; None for all else."""
    match event:
        case OneOf(number, said):
            return number, said
        case Decoded() | Finished():
            return 0, event
    return None


async def _heard(job: Job, notice: Say) -> AsyncIterator[Event]:
    async for event in job.heard():
        if isinstance(event, Failed):
            raise from_failure(event)
        if isinstance(event, Noticed):
            notice(event.text)
        yield event


async def refuse(connection: Connection, refusal: Refusal) -> None:
    """Tell a client that there is no answer, or no more of one."""
    if connection.has_begun:
        await _send(connection, refusal.body)
        await end_stream(connection)
    else:
        headers = {**JSON, **refusal.headers}
        await connection.respond(refusal.status, headers, msgspec.json.encode(refusal.body))


async def end_stream(connection: Connection) -> None:
    """Say that a stream is over."""
    await connection.send(b"data: [DONE]\n\n")
    await connection.end()


async def _send(connection: Connection, value: Object) -> None:
    await connection.send(b"data: " + msgspec.json.encode(value) + b"\n\n")
