"""Completions of a text, which no template is put around: their bodies, and OpenAI's objects."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any

import msgspec

from assistant.events import Token
from assistant.request import Infill, Request
from assistant.serve.api_error import refuse
from assistant.serve.completion_objects import AnswerDeltas, Completion, Object, measured
from assistant.serve.completion_schema import (
    CompletionRequest,
    Limits,
    completion_request,
    converted,
    read_body,
)
from assistant.serve.dialect import Fields

DEFAULT_TOKENS = 16  # as in OpenAI's API
MAX_INDENT = 1_000  # blanks; no editor has more
_IN_LLAMA_CPP = {
    "samplers", "cache_prompt", "id_slot", "n_cache_reuse", "t_max_prompt_ms", "speculative",
}  # fmt: skip
"""Fields of llama.cpp's server that only say how it is to compute, which is decided here."""
_MARKS = (
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),
)
"""The marks that clients write into a prompt before, in and after a gap's surroundings."""


def parse_text_completion(
    body: bytes, defaults: Request, served: str, strict: bool = False
) -> CompletionRequest:
    """Parse OpenAI's body of a completion of a text, or of a gap, if it has a suffix.

    Raises:
        ApiError: as `parse_completion` does.
    """
    fields, notices = read_body(body, strict)
    prompt, suffix = fields.pop("prompt", None), fields.pop("suffix", None) or ""
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    if not isinstance(prompt, str) or not (prompt or suffix):
        refuse("The prompt must be one text that is not empty.", "prompt")
    if not isinstance(suffix, str):
        refuse("The suffix must be one text.", "suffix")
    if fields.pop("echo", False):
        refuse("The prompt is not repeated in the answer; leave echo out.", "echo")
    if type(logprobs := fields.get("logprobs")) is int:
        fields |= {"logprobs": True, "top_logprobs": logprobs}
    given = {name: value for name, value in fields.items() if value is not None}
    fields = {"max_tokens": DEFAULT_TOKENS, **given}
    prompt, infill = (prompt, Infill(suffix)) if suffix else _gap_in(prompt)
    raw = _raw(defaults, infill)
    return completion_request(_with(prompt, fields), notices, raw, served)


class _File(msgspec.Struct):
    text: str
    filename: str | None = None


class _NativeBody(msgspec.Struct):
    """The fields of llama.cpp's server that a chat completion does not have."""

    prompt: str = ""
    input_prefix: str | None = None
    input_suffix: str | None = None
    input_extra: list[_File] | None = None
    n_predict: int | None = None
    n_cmpl: int = 1
    n_indent: Annotated[int, msgspec.Meta(ge=0, le=MAX_INDENT)] = 0
    t_max_predict_ms: int | None = None
    response_fields: list[str] | None = None


def parse_native(
    body: bytes, defaults: Request, served: str, strict: bool = False
) -> CompletionRequest:
    """Parse the body of llama.cpp's `/completion` or `/infill`; the latter has `input_prefix`.

    Raises:
        ApiError: as `parse_completion` does.
    """
    fields, notices = read_body(body, strict)
    native = converted(fields, _NativeBody)
    own = {*_NativeBody.__struct_fields__, *_IN_LLAMA_CPP}
    others = {name: value for name, value in fields.items() if name not in own}
    others["model"] = fields.get("model") or served
    if native.n_predict and native.n_predict > 0:
        others["max_tokens"] = native.n_predict
    if native.n_cmpl > 1:
        notices.add("One completion is made, and not n_cmpl", "n_cmpl")
    is_gap = native.input_prefix is not None or native.input_suffix is not None
    files = ((file.filename or "tmp", file.text) for file in native.input_extra or ())
    prompt = (native.input_prefix or "") + native.prompt
    gap = prompt, Infill(native.input_suffix or "", (*files,))
    prompt, infill = gap if is_gap else _gap_in(prompt)
    if not (prompt or infill):
        refuse("The prompt must be one text that is not empty.", "prompt")
    milliseconds = native.t_max_predict_ms or 0
    limits = Limits(
        native.n_indent,
        milliseconds / 1000 if milliseconds > 0 else None,
        native.n_predict == 0,
        tuple(native.response_fields or ()),
    )
    parsed = completion_request(_with(prompt, others), notices, _raw(defaults, infill), served)
    return replace(parsed, limits=limits)


def _gap_in(prompt: str) -> tuple[str, Infill | None]:
    """Return what stands before and after a gap, if a client has put marks around it."""
    for first, second, third in _MARKS:
        if prompt.startswith(first) and prompt.endswith(third):
            before, mark, after = prompt[len(first) : -len(third)].rpartition(second)
            if mark:
                return before, Infill(after)
    return prompt, None


def _raw(defaults: Request, infill: Infill | None) -> Request:
    """Return the defaults of a text; what fills a gap is the likeliest text unless asked for."""
    sampling = replace(defaults.sampling, temperature=0) if infill else defaults.sampling
    more: dict[str, Any] = {"thinking": "auto", "thinking_budget": None, "sampling": sampling}
    return replace(defaults, messages=(), raw=True, infill=infill, **more)


def _with(prompt: str, fields: Fields) -> Fields:
    return {**fields, "messages": [{"role": "user", "content": prompt}]}


class TextCompletion(Completion):
    """Make the objects of a completion of a text, which has no messages."""

    PREFIX, KIND, CHUNK_KIND = "cmpl-", "text_completion", "text_completion"

    def _message(self, answer: AnswerDeltas) -> Object:
        return {"index": 0, "text": answer.text}

    def _delta(self, delta: Object) -> Object:
        return {"index": 0, "text": delta.get("content") or ""}

    def logprobs(self, tokens: Iterable[Token]) -> Object | None:
        """Return the log probabilities of an answer's tokens; None if they are not wanted."""
        if self.chat_request.request.logprobs is None:
            return None
        rows = [token.logprobs for token in measured(tokens)]
        return {
            "tokens": [own.text for own, *_ in rows],
            "token_logprobs": [own.logprob for own, *_ in rows],
            "top_logprobs": [
                {other.text: other.logprob for other in likely} for _, *likely in rows
            ],
        }
