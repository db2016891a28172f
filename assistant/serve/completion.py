"""Chat completions: from the engine's events to what their clients are sent.

They are OpenAI's objects, and in the field `specchat` is what it has no word for.
"""

import secrets
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import msgspec

from assistant.events import (
    Decoded,
    Event,
    Finished,
    Loading,
    OneOf,
    Prefilled,
    Prepared,
    Stats,
    Stop,
    Token,
)
from assistant.serve.completion_schema import CompletionRequest
from assistant.serve.exchange import Exchange
from assistant.serve.refusal import refusal_of
from assistant.stats import STATS_FIELDS, TOKEN_FIELDS
from assistant.tokens import said

Events = AsyncIterator[Event]
Object = dict[str, Any]
_REASONS = {Stop.LENGTH: "length", Stop.CONTEXT: "length"}
_ELSEWHERE = ("prompt_tokens", "cached_tokens", "generated_tokens", "lookahead_counts")
_STATS = tuple(name for name in STATS_FIELDS if name not in _ELSEWHERE)


async def whole(events: Events, asked: CompletionRequest, exchange: Exchange) -> bytes:
    """Return all answers as one object.

    Raises:
        Refusal: there is no answer.
    """
    tokens: list[list[Token]] = [[] for _ in range(asked.request.answers)]
    ends: dict[int, Finished] = {}
    async for event in events:
        match _told(event):
            case number, Decoded(more):
                tokens[number] += more
            case number, Finished() as end:
                ends[number] = end
    exchange.answers = _in_order(ends)
    answers = [(ends[number], tokens[number]) for number in sorted(ends)]
    return msgspec.json.encode(Completion(asked.model).whole(answers))


async def stream(
    events: Events, asked: CompletionRequest, exchange: Exchange
) -> AsyncIterator[bytes]:
    """Yield answers as server-sent events; the first comes when the engine has begun one.

    Raises:
        Refusal: before the first, there is no answer; later, the client is told within the stream.
    """
    reply, has_begun = Completion(asked.model), False
    sent = [""] * asked.request.answers
    thought = [""] * asked.request.answers
    ends: dict[int, Finished] = {}
    try:
        async for event in events:
            match event:
                case Prepared() if not has_begun:  # answers that come in turn are prepared in turn
                    has_begun = True
                    yield b"".join(_data(reply.first(number)) for number in range(len(sent)))
                case Loading() | Prefilled() if has_begun:
                    yield b": the question is being read\n\n"
            match _told(event):
                case number, Decoded(tokens) if tokens:
                    text, reasoning = said(tokens), said(tokens, "thought")
                    sent[number] += text
                    thought[number] += reasoning
                    yield _data(reply.more(number, text, tokens, reasoning))
                case number, Finished(text) as end:
                    ends[number] = end
                    rest = text[len(sent[number]) :], (), end.thought[len(thought[number]) :]
                    if rest[0] or rest[2]:
                        yield _data(reply.more(number, *rest))
                    yield _data(reply.last(number, end))
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


class Completion:
    """The objects that answers consist of, as a whole or in chunks."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._id = f"chatcmpl-{secrets.token_hex(12)}"
        self._created = int(time.time())

    def whole(self, answers: Sequence[tuple[Finished, Sequence[Token]]]) -> Object:
        """Return all answers as one object.

        What there is no word for is told beside the choices; of several, within each.
        """
        choices, owns = [], []
        for number, (end, tokens) in enumerate(answers):
            message = {"role": "assistant", "content": end.text, "refusal": None}
            if end.thought:
                message["reasoning_content"] = end.thought
            why = _reason(end.stop)
            choices.append(
                {"index": number, "message": message, "logprobs": None, "finish_reason": why}
            )
            own = {"tokens": [_token(token) for token in tokens], **_end(end)}
            owns.append({"specchat": own})
        usage = _usage([end.stats for end, _ in answers])
        if len(answers) == 1:
            return self._object("chat.completion", choices, usage=usage, **owns[0])
        each = [choice | own for choice, own in zip(choices, owns, strict=True)]
        return self._object("chat.completion", each, usage=usage)

    def first(self, number: int) -> Object:
        """Return the chunk that says who speaks."""
        return self._chunk(number, {"role": "assistant", "content": ""})

    def more(
        self, number: int, text: str, tokens: Iterable[Token] = (), reasoning: str = ""
    ) -> Object:
        """Return a chunk of an answer: a round's tokens."""
        own = {"tokens": [_token(token) for token in tokens]}
        delta = {"reasoning_content": reasoning} if reasoning else {}
        return self._chunk(
            number, delta | ({"content": text} if text or not delta else {}), specchat=own
        )

    def last(self, number: int, end: Finished) -> Object:
        """Return the chunk that says why one ended."""
        return self._chunk(number, {}, _reason(end.stop), specchat=_end(end))

    def usage(self, answers: Sequence[Stats]) -> Object:
        """Return the chunk that counts the tokens of all answers."""
        return self._object("chat.completion.chunk", [], usage=_usage(answers))

    def _chunk(
        self, number: int, delta: Object, ended: str | None = None, **more: object
    ) -> Object:
        choice = {"index": number, "delta": delta, "logprobs": None, "finish_reason": ended}
        return self._object("chat.completion.chunk", [choice], **more)

    def _object(self, kind: str, choices: list[Object], **more: object) -> Object:
        names = {"id": self._id, "object": kind, "created": self._created, "model": self._model}
        return {**names, "choices": choices, **more}


def _reason(stop: Stop) -> str:
    """Return OpenAI's word for why an answer ended."""
    return _REASONS.get(stop, "stop")


def _token(token: Token) -> Object:
    return {name: getattr(token, name) for name in TOKEN_FIELDS}


def _end(end: Finished) -> Object:
    stats = {name: getattr(end.stats, name) for name in _STATS}
    return {"stop": end.stop, "complete": end.complete, "stats": stats}


def _usage(answers: Sequence[Stats]) -> Object:
    """Return the tokens of a prompt, and of all answers to it."""
    prompt, cached = answers[0].prompt_tokens, answers[0].cached_tokens
    generated = sum(stats.generated_tokens for stats in answers)
    accepted = sum(stats.accepted for stats in answers)
    thought = sum(stats.thought_tokens for stats in answers)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": generated,
        "total_tokens": prompt + generated,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {
            **({"reasoning_tokens": thought} if thought else {}),
            "accepted_prediction_tokens": accepted,
            "rejected_prediction_tokens": sum(stats.drafted for stats in answers) - accepted,
        },
    }
