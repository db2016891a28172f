"""The tokens of recent answers.

Clients send answers back as text. Tokenising it again may give other tokens than were decoded, but
the caches hold the decoded ones.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import msgspec

from assistant.events import Finished
from assistant.request import Message, ToolCall

MAX_ANSWERS_REMEMBERED = 64  # in memory alone
_AnswerKey = tuple[str, tuple[tuple[str, bytes], ...]]


class AnswerTokens:
    """Remember the tokens of answers that clients may send back as text."""

    def __init__(self) -> None:
        self._tokens: OrderedDict[_AnswerKey, tuple[int, ...]] = OrderedDict()

    def remember(self, answer: Finished) -> None:
        """Remember an answer, unless it has a thought: the template rewrites such an answer."""
        if answer.thought:
            return
        key = _answer_key(answer.text, answer.tool_calls)
        self._tokens[key] = answer.token_ids
        self._tokens.move_to_end(key)
        if len(self._tokens) > MAX_ANSWERS_REMEMBERED:
            self._tokens.popitem(last=False)

    def recall(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        """Return a conversation with the tokens of its answers, where they are remembered."""
        return tuple(map(self._with_tokens, messages))

    def _with_tokens(self, message: Message) -> Message:
        key = _answer_key(message.content, message.tool_calls)
        tokens = self._tokens.get(key, ()) if message.role == "assistant" else message.token_ids
        return replace(message, token_ids=tokens)


def _answer_key(text: str, tool_calls: Sequence[ToolCall]) -> _AnswerKey:
    """Return the key of an answer, without the ids of its calls and the layout of their JSON."""
    return text, tuple((call.name, _canonical_json(call.arguments)) for call in tool_calls)


def _canonical_json(arguments: str) -> bytes:
    try:
        return msgspec.json.encode(msgspec.json.decode(arguments), order="deterministic")
    except (ValueError, RecursionError):
        return arguments.encode()
