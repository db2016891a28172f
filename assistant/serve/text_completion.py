"""Completions of a text, which no template is put around: their bodies, and OpenAI's objects."""

from collections.abc import Iterable
from dataclasses import replace

from assistant.events import Token
from assistant.request import Request
from assistant.serve.api_error import refuse
from assistant.serve.completion_objects import AnswerDeltas, Completion, Object, measured
from assistant.serve.completion_schema import CompletionRequest, parse_completion
from assistant.serve.dialect import Fields, Notices

DEFAULT_TOKENS = 16  # as in OpenAI's API


def parse_text_completion(
    body: bytes, defaults: Request, served: str, strict: bool = False
) -> CompletionRequest:
    """Parse the body of a completion of a text.

    Raises:
        ApiError: as `parse_completion` does.
    """
    raw = replace(defaults, messages=(), raw=True, thinking="auto", thinking_budget=None)
    return parse_completion(body, raw, served, strict, _chat_fields)


def _chat_fields(fields: Fields, notices: Notices) -> Fields:
    prompt = fields.pop("prompt", None)
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    if not isinstance(prompt, str) or not prompt:
        refuse("The prompt must be one text that is not empty.", "prompt")
    if fields.pop("suffix", None):
        refuse("A suffix is not supported; leave it out.", "suffix")
    if fields.pop("echo", False):
        refuse("The prompt is not repeated in the answer; leave echo out.", "echo")
    if type(logprobs := fields.get("logprobs")) is int:
        fields |= {"logprobs": True, "top_logprobs": logprobs}
    given = {name: value for name, value in fields.items() if value is not None}
    messages = [{"role": "user", "content": prompt}]
    return {"max_tokens": DEFAULT_TOKENS, **given, "messages": messages}


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
