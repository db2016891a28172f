"""Completions of a text without a template, as in OpenAI's API or as in llama.cpp's own."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from functools import reduce
from operator import getitem
from typing import Annotated, Any

import msgspec

from assistant.events import Finished, Stop, Token, TokenLogprob
from assistant.request import Infill, Request
from assistant.serve.api_error import refuse
from assistant.serve.completion_objects import AnswerDeltas, Completion, Object, extras
from assistant.serve.completion_schema import Adapted, Limits, convert_fields
from assistant.serve.dialect import Fields, Notices
from models.native.vocab import GAP_MARKS

DEFAULT_TOKENS = 16  # as in OpenAI's API
_STOP_TYPES = {Stop.STOP_TOKEN: "eos", Stop.STOP_STRING: "word"}
MAX_INDENT = 1_000  # blanks; no editor has more
_IN_LLAMA_CPP = {
    "samplers", "cache_prompt", "id_slot", "n_cache_reuse", "t_max_prompt_ms", "speculative",
}  # fmt: skip
"""Fields of llama.cpp's server on how it computes, which is decided here."""


class _File(msgspec.Struct):
    text: str
    filename: str | None = None


class _Body(msgspec.Struct):
    """The fields that a chat completion does not have, of OpenAI's API and llama.cpp's server."""

    prompt: Any = None  # a text, or a list of one
    suffix: str | None = None
    echo: bool | None = None
    input_prefix: str | None = None
    input_suffix: str | None = None
    input_extra: list[_File] | None = None
    n_predict: int | None = None
    n_cmpl: int = 1
    n_indent: Annotated[int, msgspec.Meta(ge=0, le=MAX_INDENT)] = 0
    t_max_predict_ms: int | None = None
    response_fields: list[str] | None = None


def from_text(fields: Fields, notices: Notices, defaults: Request, native: bool = False) -> Adapted:
    """Make a chat completion of the body of a completion of a text, or of a gap in one.

    What fills a gap is the likeliest text unless the client sets a temperature. A `native` body is
    one of llama.cpp's server.
    """
    body = convert_fields(fields, _Body, notices)
    own = {*_Body.__struct_fields__}
    own = own | _IN_LLAMA_CPP if native else own - {"response_fields"}
    others = {name: value for name, value in fields.items() if name not in own}
    if body.echo:
        refuse("The prompt is not repeated in the answer; leave echo out.", "echo")
    if body.n_cmpl > 1:
        notices.add("One completion is made, and not n_cmpl", "n_cmpl")
    if type(logprobs := others.get("logprobs")) is int:
        others |= {"logprobs": True, "top_logprobs": logprobs}
    if others.get("max_tokens") is None:
        others["max_tokens"] = max(body.n_predict or 0, 0) or (None if native else DEFAULT_TOKENS)
    prompt, infill = _prompt(body)
    others["messages"] = [{"role": "user", "content": prompt}]
    sampling = replace(defaults.sampling, temperature=0) if infill else defaults.sampling
    raw = replace(
        defaults, messages=(), raw=True, infill=infill, sampling=sampling,
        thinking="auto", thinking_budget=None,
    )  # fmt: skip
    seconds = max(body.t_max_predict_ms or 0, 0) / 1000 or None
    limits = Limits(body.n_indent, seconds, body.n_predict == 0, tuple(body.response_fields or ()))
    return Adapted(others, raw, limits, needs_model=not native)


def _prompt(body: _Body) -> tuple[str, Infill | None]:
    """Return the text before an answer, and the gap if it fills one."""
    given = body.prompt or ""
    prompt = given[0] if isinstance(given, list) and len(given) == 1 else given
    after = body.suffix or body.input_suffix
    fills = after is not None or body.input_prefix is not None
    if not (isinstance(prompt, str) and (prompt or fills)):
        refuse("The prompt must be one text that is not empty, and no token ids.", "prompt")
    if not fills:
        return _split_marks(prompt)
    files = ((file.filename or "tmp", file.text) for file in body.input_extra or ())
    return (body.input_prefix or "") + prompt, Infill(after or "", (*files,))


def _split_marks(prompt: str) -> tuple[str, Infill | None]:
    """Return the text before a gap, and the gap, if a client has written a model's marks of one."""
    for marks in GAP_MARKS:
        if match := re.fullmatch("(?s:(.*))".join(map(re.escape, marks)), prompt):
            return match[1], Infill(match[2])
    return prompt, None


class TextCompletion(Completion):
    """Make the objects of a completion of a text, which has no messages."""

    PREFIX, KIND, CHUNK_KIND = "cmpl-", "text_completion", "text_completion"

    def _message(self, answer: AnswerDeltas) -> Object:
        return {"index": 0, "text": answer.text}

    def _delta(self, delta: Object) -> Object:
        return {"index": 0, "text": delta.get("content") or ""}

    def _logprobs_of(self, rows: list[tuple[TokenLogprob, ...]]) -> Object:
        return {
            "tokens": [own.text for own, *_ in rows],
            "token_logprobs": [own.logprob for own, *_ in rows],
            "top_logprobs": [{one.text: one.logprob for one in likely} for _, *likely in rows],
        }


class NativeCompletion(Completion):
    """Make the objects of one completion; an object with `stop` ends a stream."""

    DONE = b""

    def whole(self, answer: AnswerDeltas, end: Finished) -> Object:
        """Return an answer that has ended as one object, with the fields that are asked for."""
        whole = {**self._part(answer.text, True), **self._end(answer, end)}
        values: Object = {}
        for path in self.chat_request.limits.fields:
            with suppress(KeyError, TypeError):  # there is no such field
                values[path] = reduce(getitem, path.split("/"), whole)
        return values if self.chat_request.limits.fields else whole

    def begin(self) -> Iterator[Object]:
        """Yield nothing."""
        return iter(())

    def more(self, deltas: Iterable[Object], tokens: Iterable[Token] = ()) -> Iterator[Object]:
        """Yield an object for each delta."""
        return (self._part(delta.get("content", ""), False) for delta in deltas)

    def finish(self, answer: AnswerDeltas, end: Finished) -> Iterator[Object]:
        """Yield the object with the figures of the answer."""
        yield {**self._part("", True), **self._end(answer, end)}

    def _part(self, content: str, stop: bool) -> Object:
        return {"index": 0, "content": content, "tokens": [], "id_slot": 0, "stop": stop}

    def _end(self, answer: AnswerDeltas, end: Finished) -> Object:
        stats, request = end.stats, self.chat_request.request
        settings = {"n_predict": request.max_tokens or -1, "seed": request.seed}
        return {
            "model": self.chat_request.model,
            "generation_settings": {**settings, **asdict(request.sampling)},
            "tokens_predicted": stats.generated_tokens,
            "tokens_evaluated": stats.prompt_tokens,
            "tokens_cached": stats.prompt_tokens + stats.generated_tokens,
            "has_new_line": "\n" in answer.text,
            "truncated": end.stop is Stop.CONTEXT,
            "stop_type": _STOP_TYPES.get(end.stop, "limit"),
            "stopping_word": "",
            "timings": {
                "cache_n": stats.cached_tokens,
                **_timing("prompt", stats.prompt_tokens - stats.cached_tokens, stats.prefill_s),
                **_timing("predicted", stats.generated_tokens, stats.decode_s),
                "draft_n": stats.drafted,
                "draft_n_accepted": stats.accepted,
            },
            "specchat": extras(end),
        }


def _timing(what: str, count: int, seconds: float) -> Object:
    return {
        f"{what}_n": count,
        f"{what}_ms": 1000 * seconds,
        f"{what}_per_token_ms": 1000 * seconds / max(count, 1),
        f"{what}_per_second": count / seconds if seconds else 0.0,
    }
