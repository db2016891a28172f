"""OpenAI's objects for answers, and in the field `specchat` what it has no word for."""

import secrets
import time
from collections.abc import Iterable, Sequence
from typing import Any

from assistant.events import Ready, Stats, Stop, Token

Object = dict[str, Any]
_REASONS = {Stop.LENGTH: "length", Stop.CONTEXT: "length"}
_TOKEN = ("id", "text", "origin", "source", "target_prob", "draft_prob")
_STATS = (
    "mode",
    "rounds",
    "drafted",
    "tested",
    "accepted",
    "acceptance_rate",
    "tokens_per_eval",
    "prefill_s",
    "first_token_s",
    "decode_s",
    "tokens_per_s",
)


class Completion:
    """The objects that one answer consists of, as a whole or in chunks."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._id = f"chatcmpl-{secrets.token_hex(12)}"
        self._created = int(time.time())

    def whole(self, text: str, tokens: Sequence[Token], stop: Stop, stats: Stats) -> Object:
        """Return the answer as one object."""
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason(stop)}
        own = {"tokens": [_token(token) for token in tokens], **_end(stop, stats)}
        return self._object("chat.completion", [choice], usage=_usage(stats), specchat=own)

    def first(self) -> Object:
        """Return the chunk that says who speaks."""
        return self._chunk({"role": "assistant", "content": ""})

    def more(self, text: str, tokens: Iterable[Token] = ()) -> Object:
        """Return a chunk of the answer: a round's tokens."""
        own = {"tokens": [_token(token) for token in tokens]}
        return self._chunk({"content": text}, specchat=own)

    def last(self, stop: Stop, stats: Stats) -> Object:
        """Return the chunk that says why it ended."""
        return self._chunk({}, reason(stop), specchat=_end(stop, stats))

    def usage(self, stats: Stats) -> Object:
        """Return the chunk that counts tokens."""
        return self._object("chat.completion.chunk", [], usage=_usage(stats))

    def _chunk(self, delta: Object, ended: str | None = None, **more: object) -> Object:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": ended}
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
    return {name: getattr(token, name) for name in _TOKEN}


def _end(stop: Stop, stats: Stats) -> Object:
    return {"stop": stop, "stats": {name: getattr(stats, name) for name in _STATS}}


def _usage(stats: Stats) -> Object:
    return {
        "prompt_tokens": stats.prompt_tokens,
        "completion_tokens": stats.generated_tokens,
        "total_tokens": stats.prompt_tokens + stats.generated_tokens,
        "prompt_tokens_details": {"cached_tokens": stats.cached_tokens},
        "completion_tokens_details": {
            "accepted_prediction_tokens": stats.accepted,
            "rejected_prediction_tokens": stats.drafted - stats.accepted,
        },
    }
