"""Recent answers in memory: the tokens of each, and the last suggestion in an editor.

Clients send answers back as text. Tokenising it again may give other tokens than were decoded, but
the decoded ones are cached. And the next suggestion is often the rest of the last one.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from assistant.calling.formats import read_json
from assistant.events import Finished
from assistant.request import Message, Request, ToolCall
from assistant.serve.completion_objects import AnswerDeltas

MAX_ANSWERS_REMEMBERED = 64  # in memory alone
LONGEST = 2_000  # characters of a prediction: no suggestion has more
_AnswerKey = tuple[str, tuple[tuple[str, str], ...]]


class AnswerTokens:
    """Remember the tokens of answers that clients may send back as text."""

    def __init__(self) -> None:
        self._tokens: dict[_AnswerKey, tuple[int, ...]] = {}  # the newest last

    def remember(self, answer: Finished) -> None:
        """Remember an answer, unless it has a thought: the template rewrites such an answer."""
        if answer.thought:
            return
        key = _answer_key(answer.text, answer.tool_calls)
        self._tokens.pop(key, None)
        self._tokens[key] = answer.token_ids
        if len(self._tokens) > MAX_ANSWERS_REMEMBERED:
            del self._tokens[next(iter(self._tokens))]

    def with_tokens(self, message: Message) -> Message:
        """Return a message; if it is an answer that is remembered, with its tokens."""
        key = _answer_key(message.content, message.tool_calls)
        tokens = self._tokens.get(key, ()) if message.role == "assistant" else message.token_ids
        return replace(message, token_ids=tokens)


def _answer_key(text: str, tool_calls: Sequence[ToolCall]) -> _AnswerKey:
    """Return the key of an answer, without the ids of its calls and the layout of their JSON."""
    read = ((call.name, read_json(call.arguments)) for call in tool_calls)
    return text, tuple((name, json.dumps(value, sort_keys=True)) for name, value in read)


class LastSuggestion:
    """Remember the last answer to a gap, and predict the next one by it."""

    def __init__(self) -> None:
        self._before, self._prediction = "", ""
        self._answer = AnswerDeltas()

    def predict(self, request: Request, answer: AnswerDeltas) -> Request:
        """Return a request with the rest of the last suggestion, if the text agrees with it so far.

        `answer` collects the answer to the request. If the last one was replaced before it had any
        text, its prediction counts instead.
        """
        suggested = self._answer.text
        if self._answer.end is None and self._prediction.startswith(suggested):
            suggested = self._prediction
        before = "".join(message.content for message in request.messages)
        agrees = (self._before + suggested).startswith(before)
        rest = (self._before + suggested)[len(before) :][:LONGEST] if agrees else ""
        self._before, self._prediction, self._answer = before, rest, answer
        return replace(request, prediction=rest)
