"""Completions of a text, which no template is put around: their bodies, and OpenAI's objects."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any

import msgspec

from assistant.events import Token
from assistant.request import Infill, Request
from assistant.serve.api_error import refuse
from assistant.serve.completion_objects import AnswerDeltas, Completion, Object, measured
from assistant.serve.completion_schema import Adapted, Limits, converted
from assistant.serve.dialect import Fields, Notices

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


class _File(msgspec.Struct):
    text: str
    filename: str | None = None


class _Body(msgspec.Struct):
    """The fields that a chat completion does not have, of OpenAI's API and llama.cpp's server."""

    prompt: str | Annotated[list[str], msgspec.Meta(min_length=1, max_length=1)] | None = None
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


def from_text(
    fields: Fields, notices: Notices, defaults: Request, max_tokens: int | None = None
) -> Adapted:
    """Make a chat completion of the body of a completion of a text, or of a gap in one.

    What fills a gap is the likeliest text unless the client sets a temperature.

    Raises:
        ApiError: there is no one prompt, or a field is invalid.
    """
    body = converted(fields, _Body)
    own = {*_Body.__struct_fields__, *_IN_LLAMA_CPP}
    others = {name: value for name, value in fields.items() if name not in own}
    if body.echo:
        refuse("The prompt is not repeated in the answer; leave echo out.", "echo")
    if body.n_cmpl > 1:
        notices.add("One completion is made, and not n_cmpl", "n_cmpl")
    if type(logprobs := others.get("logprobs")) is int:
        others |= {"logprobs": True, "top_logprobs": logprobs}
    if others.get("max_tokens") is None:
        others["max_tokens"] = max(body.n_predict or 0, 0) or max_tokens
    prompt, infill = _prompt(body)
    others["messages"] = [{"role": "user", "content": prompt}]
    sampling = replace(defaults.sampling, temperature=0) if infill else defaults.sampling
    more: dict[str, Any] = {"thinking": "auto", "thinking_budget": None, "sampling": sampling}
    raw = replace(defaults, messages=(), raw=True, infill=infill, **more)
    return Adapted(others, raw, _limits(body))


def _prompt(body: _Body) -> tuple[str, Infill | None]:
    """Return what stands before an answer, and around it if it fills a gap."""
    prompt = body.prompt if isinstance(body.prompt, str) else "".join(body.prompt or ())
    after = body.suffix or body.input_suffix
    if after is None and body.input_prefix is None:
        prompt, infill = _gap_in(prompt)
    else:
        files = ((file.filename or "tmp", file.text) for file in body.input_extra or ())
        prompt, infill = (body.input_prefix or "") + prompt, Infill(after or "", (*files,))
    if not (prompt or infill):
        refuse("The prompt must be one text that is not empty.", "prompt")
    return prompt, infill


def _gap_in(prompt: str) -> tuple[str, Infill | None]:
    """Return what stands before and after a gap, if a client has put marks around it."""
    for first, second, third in _MARKS:
        if prompt.startswith(first) and prompt.endswith(third):
            before, mark, after = prompt[len(first) : -len(third)].rpartition(second)
            if mark:
                return before, Infill(after)
    return prompt, None


def _limits(body: _Body) -> Limits:
    seconds = max(body.t_max_predict_ms or 0, 0) / 1000 or None
    return Limits(body.n_indent, seconds, body.n_predict == 0, tuple(body.response_fields or ()))


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
