"""The objects that chat completions consist of: OpenAI's, whole and in chunks.

In the field `specchat` is what OpenAI has no word for.
"""

import secrets
import time
from collections.abc import Iterable, Sequence

from assistant.events import Finished, Stats, Stop, Token
from assistant.serve.answer_deltas import AnswerDeltas, Object
from assistant.serve.completion_schema import CompletionRequest
from assistant.stats import STATS_FIELDS, TOKEN_FIELDS

_REASONS = {Stop.LENGTH: "length", Stop.CONTEXT: "length"}
_ELSEWHERE = ("prompt_tokens", "cached_tokens", "generated_tokens", "lookahead_counts")
_STATS = tuple(name for name in STATS_FIELDS if name not in _ELSEWHERE)


class Completion:
    """The objects that answers consist of, as a whole or in chunks."""

    def __init__(self, asked: CompletionRequest) -> None:
        self._asked = asked
        self._id = f"chatcmpl-{secrets.token_hex(12)}"
        self._created = int(time.time())

    def whole(self, answers: Sequence[tuple[AnswerDeltas, Finished, Sequence[Token]]]) -> Object:
        """Return all answers as one object.

        What there is no word for is told beside the choices; of several, within each.
        """
        choices, owns = [], []
        for number, (told, end, tokens) in enumerate(answers):
            content = told.text or (None if told.calls else "")
            message: Object = {"role": "assistant", "content": content, "refusal": None}
            if told.thought:
                message["reasoning_content"] = told.thought
            if told.calls:
                message["tool_calls"] = told.calls
            why = self._reason(told, end)
            choices.append(
                {"index": number, "message": message, "logprobs": None, "finish_reason": why}
            )
            own = {"tokens": [_token(token) for token in tokens], **_end(end)}
            owns.append({"specchat": own})
        usage = _usage([end.stats for _, end, _ in answers])
        if len(answers) == 1:
            return self._object("chat.completion", choices, usage=usage, **owns[0])
        each = [choice | own for choice, own in zip(choices, owns, strict=True)]
        return self._object("chat.completion", each, usage=usage)

    def first(self, number: int) -> Object:
        """Return the chunk that says who speaks; there may be no text but calls."""
        content = None if self._asked.request.tools else ""
        return self._chunk(number, {"role": "assistant", "content": content})

    def more(self, number: int, delta: Object, tokens: Iterable[Token] = ()) -> Object:
        """Return a chunk of an answer, with tokens of a round."""
        own = {"tokens": [_token(token) for token in tokens]}
        return self._chunk(number, delta, specchat=own)

    def last(self, number: int, told: AnswerDeltas, end: Finished) -> Object:
        """Return the chunk that says why one ended."""
        return self._chunk(number, {}, self._reason(told, end), specchat=_end(end))

    def usage(self, answers: Sequence[Stats]) -> Object:
        """Return the chunk that counts the tokens of all answers."""
        return self._object("chat.completion.chunk", [], usage=_usage(answers))

    def _reason(self, told: AnswerDeltas, end: Finished) -> str:
        """Return OpenAI's word for why an answer ended; a call that was named is no reason."""
        if told.calls and end.stop not in _REASONS and not self._asked.names_call:
            return "tool_calls"
        return _REASONS.get(end.stop, "stop")

    def _chunk(
        self, number: int, delta: Object, ended: str | None = None, **more: object
    ) -> Object:
        choice = {"index": number, "delta": delta, "logprobs": None, "finish_reason": ended}
        return self._object("chat.completion.chunk", [choice], **more)

    def _object(self, kind: str, choices: list[Object], **more: object) -> Object:
        names = {
            "id": self._id,
            "object": kind,
            "created": self._created,
            "model": self._asked.model,
        }
        return {**names, "choices": choices, **more}


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
