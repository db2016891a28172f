"""OpenAI's objects for chat completions. The field `specchat` holds what OpenAI does not define."""

import re
import secrets
import time
from collections.abc import Iterable, Iterator
from typing import Any

from assistant.events import CallDelta, Decoded, Finished, Stats, Stop, Token, TokenLogprob, text_in
from assistant.serve.api_error import ApiError
from assistant.serve.completion_schema import CompletionRequest
from assistant.stats import STATS_FIELDS, TOKEN_FIELDS, Tally

Object = dict[str, Any]

REASONS = {Stop.LENGTH: "length", Stop.CONTEXT: "length"}
_ELSEWHERE = ("prompt_tokens", "cached_tokens", "generated_tokens", "lookahead_counts")
_STATS = tuple(name for name in STATS_FIELDS if name not in _ELSEWHERE)


class AnswerDeltas:
    """Turn the rounds of an answer into deltas, and collect the answer so far."""

    def __init__(self) -> None:
        self.text = self.thought = ""
        self.lead = ""  # the text before the first token: the rest of one that is typed in part
        self.indent = 0  # blanks that each line after the first begins with; one with fewer ends it
        self.is_over = False  # whether a line with fewer blanks came
        self.tool_calls: list[Object] = []  # as in OpenAI's API; the last one may be incomplete
        self.tokens: list[Token] = []
        self.end: Finished | None = None

    def add(self, event: Decoded | Finished) -> list[Object]:
        """Return the deltas of an event; each has at most one part of a call.

        A round has at least one delta. The end has those of text that belongs to no token, without
        the text of an incomplete call.
        """
        if isinstance(event, Finished):
            self.end = event
            is_call = any(token.part == "call" for token in self.tokens)
            text = "" if is_call else event.text[max(0, len(self.text) - len(self.lead)) :]
            return self._add_text(text, event.thought[len(self.thought) :])
        tokens = event.tokens
        self.tokens += tokens
        deltas = self._add_text(text_in(tokens), text_in(tokens, "thought"))
        deltas += map(self._call_delta, event.tool_calls)
        return deltas or [{"content": ""} if any(t.part == "answer" for t in tokens) else {}]

    def _add_text(self, text: str, thought: str) -> list[Object]:
        text = self._up_to_dedent(text if self.text else self.lead + text)
        self.text += text
        self.thought += thought
        delta = {"reasoning_content": thought, "content": text}
        delta = {name: more for name, more in delta.items() if more}
        return [delta] if delta else []

    def _up_to_dedent(self, text: str) -> str:
        """Return new text up to the end of the line before the first that is indented less."""
        if self.is_over:
            return ""
        if not self.indent:
            return text
        less = rf"\n[ \t]{{0,{self.indent - 1}}}[^ \t\n]"
        before = len(self.text)
        dedent = re.compile(less).search(self.text + text, max(0, self.text.rfind("\n")))
        self.is_over = dedent is not None
        return text[: max(0, dedent.start() - before)] if dedent else text

    def _call_delta(self, delta: CallDelta) -> Object:
        """Return the delta of a part of a call; the first part has its name as well."""
        function, names = {"arguments": delta.arguments}, {}
        if delta.id:
            function, names = {"name": delta.name, **function}, {"id": delta.id, "type": "function"}
            self.tool_calls.append({**names, "function": {**function}})
        else:
            self.tool_calls[delta.index]["function"]["arguments"] += delta.arguments
        return {"tool_calls": [{"index": delta.index, **names, "function": function}]}


class Completion:
    """Make the objects of one completion: a whole one, or its chunks."""

    PREFIX, KIND, CHUNK_KIND = "chatcmpl-", "chat.completion", "chat.completion.chunk"
    DONE = b"data: [DONE]\n\n"  # ends a stream

    def __init__(self, chat_request: CompletionRequest) -> None:
        self.chat_request = chat_request
        self.id = f"{self.PREFIX}{secrets.token_hex(12)}"
        self.created = int(time.time())

    def whole(self, answer: AnswerDeltas, end: Finished) -> Object:
        """Return an answer that has ended as one object."""
        why = {"logprobs": self.logprobs(answer.tokens), "finish_reason": self._reason(answer, end)}
        choice = {**self._message(answer), **why}
        own = {"tokens": [_token(token) for token in answer.tokens], **extras(end)}
        return self._object(self.KIND, [choice], usage=usage_of(end.stats), specchat=own)

    def _message(self, answer: AnswerDeltas) -> Object:
        content = answer.text or (None if answer.tool_calls else "")
        message: Object = {"role": "assistant", "content": content, "refusal": None}
        message |= {"reasoning_content": answer.thought} if answer.thought else {}
        message |= {"tool_calls": answer.tool_calls} if answer.tool_calls else {}
        return {"index": 0, "message": message}

    def _delta(self, delta: Object) -> Object:
        return {"index": 0, "delta": delta}

    def begin(self) -> Iterator[Object]:
        """Yield the chunk with the role; its content is null if tools may be called instead."""
        content = None if self.chat_request.request.tools else ""
        yield self._chunk({"role": "assistant", "content": content})

    def more(self, deltas: Iterable[Object], tokens: Iterable[Token] = ()) -> Iterator[Object]:
        """Yield a chunk for each delta, the first one with the tokens that they come from."""
        for delta in deltas:
            own = {"tokens": [_token(token) for token in tokens]}
            yield self._chunk(delta, logprobs=self.logprobs(tokens), specchat=own)
            tokens = ()

    def finish(self, answer: AnswerDeltas, end: Finished) -> Iterator[Object]:
        """Yield the chunks with the reason why an answer ended, and its token counts."""
        yield self._chunk({}, self._reason(answer, end), specchat=extras(end))
        if self.chat_request.wants_usage:
            yield self._object(self.CHUNK_KIND, [], usage=usage_of(end.stats))

    def failed(self, api_error: ApiError) -> Object:
        """Return the object that ends a stream after an error."""
        return api_error.body

    def _reason(self, answer: AnswerDeltas, end: Finished) -> str:
        """Return OpenAI's `finish_reason`, which is "stop" if the client itself named the call."""
        if answer.tool_calls and end.stop not in REASONS and not self.chat_request.names_call:
            return "tool_calls"
        return REASONS.get(end.stop, "stop")

    def logprobs(self, tokens: Iterable[Token]) -> Object | None:
        """Return the log probabilities of an answer's tokens; None if they are not wanted."""
        if self.chat_request.request.logprobs is None:
            return None
        return self._logprobs_of([t.logprobs for t in tokens if t.logprobs and t.part == "answer"])

    def _logprobs_of(self, rows: list[tuple[TokenLogprob, ...]]) -> Object:
        def entry(of: TokenLogprob) -> Object:
            return {"token": of.text, "logprob": of.logprob, "bytes": of.utf8}

        content = [{**entry(own), "top_logprobs": [*map(entry, likely)]} for own, *likely in rows]
        return {"content": content, "refusal": None}

    def _chunk(
        self,
        delta: Object,
        ended: str | None = None,
        logprobs: Object | None = None,
        **more: object,
    ) -> Object:
        choice = {**self._delta(delta), "logprobs": logprobs, "finish_reason": ended}
        return self._object(self.CHUNK_KIND, [choice], **more)

    def _object(self, kind: str, choices: list[Object], **more: object) -> Object:
        names = {"id": self.id, "object": kind, "created": self.created}
        return {**names, "model": self.chat_request.model, "choices": choices, **more}


def _token(token: Token) -> Object:
    return {name: getattr(token, name) for name in TOKEN_FIELDS}


def extras(end: Finished) -> Object:
    """Return the facts about the end of an answer that OpenAI's objects lack."""
    stats = {name: getattr(end.stats, name) for name in _STATS}
    return {"stop": end.stop, "complete": end.complete, "stats": stats}


def usage_of(stats: Stats) -> Object:
    """Return OpenAI's token counts."""
    prompt, generated = stats.prompt_tokens, stats.generated_tokens
    predicted, thought = stats.sources.get("edit", Tally()), stats.thought_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": generated,
        "total_tokens": prompt + generated,
        "prompt_tokens_details": {"cached_tokens": stats.cached_tokens},
        "completion_tokens_details": {
            **({"reasoning_tokens": thought} if thought else {}),
            "accepted_prediction_tokens": predicted.accepted,
            "rejected_prediction_tokens": predicted.tested - predicted.accepted,
        },
    }
