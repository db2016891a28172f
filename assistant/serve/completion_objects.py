"""OpenAI's objects for answers, and in the field `specchat` what it has no word for."""

import secrets
import time
from collections.abc import Iterable, Sequence
from typing import Any

from assistant.events import Finished, Ready, Stats, Stop, Token
from assistant.stats import STATS_FIELDS, TOKEN_FIELDS

Object = dict[str, Any]
_REASONS = {Stop.LENGTH: "length", Stop.CONTEXT: "length"}
_ELSEWHERE = ("prompt_tokens", "cached_tokens", "generated_tokens", "lookahead_counts")
_STATS = tuple(name for name in STATS_FIELDS if name not in _ELSEWHERE)


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
            why = reason(end.stop)
            choices.append(
                {"index": number, "message": message, "logprobs": None, "finish_reason": why}
            )
            own = {"tokens": [_token(token) for token in tokens], **_end(end.stop, end.stats)}
            owns.append({"specchat": own})
        usage = _usage([end.stats for end, _ in answers])
        if len(answers) == 1:
            return self._object("chat.completion", choices, usage=usage, **owns[0])
        each = [choice | own for choice, own in zip(choices, owns, strict=True)]
        return self._object("chat.completion", each, usage=usage)

    def first(self, number: int) -> Object:
        """Return the chunk that says who speaks."""
        return self._chunk(number, {"role": "assistant", "content": ""})

    def more(self, number: int, text: str, tokens: Iterable[Token] = ()) -> Object:
        """Return a chunk of an answer: a round's tokens."""
        own = {"tokens": [_token(token) for token in tokens]}
        return self._chunk(number, {"content": text}, specchat=own)

    def last(self, number: int, stop: Stop, stats: Stats) -> Object:
        """Return the chunk that says why one ended."""
        return self._chunk(number, {}, reason(stop), specchat=_end(stop, stats))

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


def reason(stop: Stop) -> str:
    """Return OpenAI's word for why an answer ended."""
    return _REASONS.get(stop, "stop")


def card(name: str, ready: Ready, loaded: int) -> Object:
    """Return what is said about the model that answers, which was loaded at a time."""
    target, draft = ready.target, ready.draft
    own = {"name": target.name, "context": target.n_ctx, "draft": draft.name if draft else None}
    names = {"id": name, "object": "model", "created": loaded, "owned_by": "specchat"}
    return {**names, "specchat": own}


def _token(token: Token) -> Object:
    return {name: getattr(token, name) for name in TOKEN_FIELDS}


def _end(stop: Stop, stats: Stats) -> Object:
    return {"stop": stop, "stats": {name: getattr(stats, name) for name in _STATS}}


def _usage(answers: Sequence[Stats]) -> Object:
    """Return the tokens of a prompt, and of all answers to it."""
    prompt, cached = answers[0].prompt_tokens, answers[0].cached_tokens
    generated = sum(stats.generated_tokens for stats in answers)
    accepted = sum(stats.accepted for stats in answers)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": generated,
        "total_tokens": prompt + generated,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {
            "accepted_prediction_tokens": accepted,
            "rejected_prediction_tokens": sum(stats.drafted for stats in answers) - accepted,
        },
    }
